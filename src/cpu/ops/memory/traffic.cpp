// The version for 16-byte vectors, and the choice among all versions.
#include "isa.hpp"
#include "ops/memory/traffic_loops.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace deepbench::cpu {
namespace {

typedef uint32_t Vector __attribute__((vector_size(16), may_alias));

constexpr Traffic kPlain = traffic_of<Vector, PlainStore>();

#if defined(__x86_64__)
struct StreamingStore {
  void operator()(Vector* to, const Vector& value) const {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), (__m128i)value);
  }
  void finish() const { _mm_sfence(); }
};
constexpr Traffic kNontemporal = traffic_of<Vector, StreamingStore>();
#endif

}  // namespace

#if defined(__x86_64__)

const Traffic& plain_traffic() {
  return isa().avx512 ? kPlainAvx512 : isa().avx2 ? kPlainAvx2 : kPlain;
}
const Traffic& nontemporal_traffic() {
  return isa().avx512 ? kNontemporalAvx512 : isa().avx2 ? kNontemporalAvx2 : kNontemporal;
}

#else

// Other architectures decide in hardware when a store bypasses the caches.
const Traffic& plain_traffic() { return kPlain; }
const Traffic& nontemporal_traffic() { return kPlain; }

#endif

}  // namespace deepbench::cpu
