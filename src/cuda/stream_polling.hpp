// Waiting for a device's work with an eye on something else: calls in which other devices take part
// may never end by themselves.
#pragma once

#include <functional>

#include "stream.hpp"

namespace deepbench::cuda {

// For all that was given to the stream. Now and then it looks, which ends the wait by throwing.
void poll_until_done(const Stream& stream, const std::function<void()>& check_peers);

}  // namespace deepbench::cuda
