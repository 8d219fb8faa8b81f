// The exception that is being handled, as a row's status and reason.
#pragma once

#include <exception>
#include <new>

#include "deepbench/core/status.hpp"

namespace deepbench {

// For use in a catch block. Rethrows what is not a std::exception.
inline RowFailure current_failure() {
  try {
    throw;
  } catch (const RowFailure& failure) {
    return failure;
  } catch (const InvalidProblem& error) {
    return {Status::kInvalid, error.what()};
  } catch (const std::bad_alloc&) {
    return {Status::kOutOfMemory, "out of host memory"};
  } catch (const std::exception& error) {
    return {Status::kFailed, error.what()};
  }
}

}  // namespace deepbench
