// Marks what the shared library exports; everything else stays inside it.
#pragma once

#if defined(_WIN32)
#define DEEPBENCH_API __declspec(dllexport)
#else
#define DEEPBENCH_API __attribute__((visibility("default")))
#endif
