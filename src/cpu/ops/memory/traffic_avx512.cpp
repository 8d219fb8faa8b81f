// Memory traffic with 64-byte vectors. The build compiles only this file for AVX-512.
#if defined(__AVX512F__)

#include <immintrin.h>

#include "ops/memory/traffic_loops.hpp"

namespace deepbench::cpu {
namespace {

typedef uint32_t Vector __attribute__((vector_size(64), may_alias));

struct StreamingStore {
  void operator()(Vector* to, const Vector& value) const {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), (__m512i)value);
  }
  void finish() const { _mm_sfence(); }
};

}  // namespace

const Traffic kPlainAvx512 = traffic_of<Vector, PlainStore>();
const Traffic kNontemporalAvx512 = traffic_of<Vector, StreamingStore>();

}  // namespace deepbench::cpu

#endif
