/* What goes wrong in a slot of the fake backend because the script says so: crashes, hangs,
 * failures.
 */
#ifndef FAKE_FAULTS_H_
#define FAKE_FAULTS_H_

#include <signal.h>
#include <time.h>

#include "plan.h"

static inline void write_log(const Plan* plan, Slot slot, const char* details) {
  FILE* file = *plan->log ? fopen(plan->log, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s%s\n", kSlotNames[slot], details);
  fclose(file);
}

static inline void nap(int milliseconds) {
  const struct timespec time = {milliseconds / 1000, (milliseconds % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

static inline deepbench_status strike(const Fault* fault) {
  switch (fault->kind) {
    case kCrash:
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
      break;
    case kAbort:
      abort();
    case kHang:
      for (;;) nap(1000);
    case kKilled: /* what the kernel does to a process that took all the memory */
      raise(SIGKILL);
      break;
    case kExit: /* as rude libraries do */
      exit(fault->status);
    case kSleep:
      nap(fault->status);
      return DEEPBENCH_OK;
    case kFail:
      fail(DEEPBENCH_FAILED, "%s", fault->message);
      fake_error_is_null = strcmp(fault->message, "null") == 0;
      return (deepbench_status)fault->status;
  }
  return DEEPBENCH_FAILED;
}

/* What the script has to say about a call of `slot` before it does anything. */
static inline deepbench_status enter(const Plan* plan, Slot slot, const char* details) {
  write_log(plan, slot, details);
  deepbench_status status = DEEPBENCH_OK;
  for (int i = 0; i < plan->fault_count && status == DEEPBENCH_OK; ++i)
    if (plan->faults[i].slot == slot) status = strike(&plan->faults[i]);
  return status;
}

#endif /* FAKE_FAULTS_H_ */
