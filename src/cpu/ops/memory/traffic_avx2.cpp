// Memory traffic with 32-byte vectors. The build compiles only this file for AVX2.
#if defined(__AVX2__)

#include <immintrin.h>

#include "ops/memory/traffic_loops.hpp"

namespace deepbench::cpu {
namespace {

typedef uint32_t Vector __attribute__((vector_size(32), may_alias));

struct StreamingStore {
  void operator()(Vector* to, const Vector& value) const {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), (__m256i)value);
  }
  void finish() const { _mm_sfence(); }
};

}  // namespace

const Traffic kPlainAvx2 = traffic_of<Vector, PlainStore>();
const Traffic kNontemporalAvx2 = traffic_of<Vector, StreamingStore>();

}  // namespace deepbench::cpu

#endif
