// A broken plugin in C++: its entry point throws.
#include <stdexcept>

#include "deepbench/plugin.h"

extern "C" __attribute__((visibility("default"))) const deepbench_backend* deepbench_plugin() {
  throw std::runtime_error("the chip is out");
}
