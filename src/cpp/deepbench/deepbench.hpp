// The core's public interface: problems, backends, measuring, rows. Contains includes only.
#pragma once

#include "deepbench/core/operation.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/group/launch_environment.hpp"
#include "deepbench/group/rendezvous.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/backend/loader.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/session/open_rendezvous.hpp"
#include "deepbench/run/session/runner.hpp"
