// Attributes that compile a loop for several vector units. Header-only, for backends.
#pragma once

// A function with this attribute is compiled for the vectors of its caller.
#define DEEPBENCH_VECTOR_INLINED __attribute__((always_inline))

// Compiles a function once for the baseline and once for each wider vector unit; the loader selects
// one. A loop with the baseline's 16-byte vectors would not be a fair comparison for any library.
// The file must be compiled with -O3, without which GCC 12 does not vectorize loops. Compilers
// reject the attribute on templates. It is not used with the thread sanitizer, which is not ready
// when the loader selects.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define DEEPBENCH_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DEEPBENCH_VECTOR_CLONES
#endif
