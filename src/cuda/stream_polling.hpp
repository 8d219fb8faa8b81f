// Waits for the work of a device and checks a second condition meanwhile: calls in which other
// devices take part may never end by themselves.
#pragma once

#include <functional>

#include "stream.hpp"

namespace deepbench::cuda {

// Waits for all work on the stream. Calls the check from time to time, which ends the wait by
// throwing.
void poll_until_done(const Stream& stream, const std::function<void()>& check_peers);

}  // namespace deepbench::cuda
