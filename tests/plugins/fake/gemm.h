/* gemm of the fake backend: computes single output elements on demand from the generator, so that a
 * problem of any size costs nothing until an output is read. A mutant makes the result wrong.
 */
#ifndef FAKE_GEMM_H_
#define FAKE_GEMM_H_

#include "deepbench/fill.h"
#include "scenario.h"

enum { kStreamA = 0, kStreamB = 1, kStreamC = 2, kMaxCached = 1 << 20, kTile = 16 };

typedef struct Gemm {
  int64_t m, n, k;
  bool trans_a, trans_b, tf32;
  deepbench_type a, b, c;
  uint64_t seed;
  int constant;  /* inputs: -1 uniform, 0 zeros, 1 ones */
  bool integers; /* inputs of a refill: small integers */
  double beta;
  double *rows, *columns; /* rows of op(A), columns of op(B); NULL if too large to cache */
} Gemm;

static inline bool is_integer(deepbench_type type) { return type >= DEEPBENCH_S32; }

static inline bool set_precision(Gemm* gemm, const char* name) {
  static const struct {
    const char* name;
    deepbench_type a, b, c;
  } kTypes[] = {{"float", DEEPBENCH_F32, DEEPBENCH_F32, DEEPBENCH_F32},
                {"tf32", DEEPBENCH_F32, DEEPBENCH_F32, DEEPBENCH_F32},
                {"half", DEEPBENCH_F16, DEEPBENCH_F16, DEEPBENCH_F16},
                {"bfloat16", DEEPBENCH_BF16, DEEPBENCH_BF16, DEEPBENCH_BF16},
                {"fp8_e4m3", DEEPBENCH_E4M3, DEEPBENCH_E4M3, DEEPBENCH_BF16},
                {"fp8_e5m2", DEEPBENCH_E5M2, DEEPBENCH_E4M3, DEEPBENCH_BF16},
                {"int8", DEEPBENCH_S8, DEEPBENCH_S8, DEEPBENCH_S32}};
  for (size_t i = 0; i < sizeof kTypes / sizeof *kTypes; ++i) {
    if (strcmp(kTypes[i].name, name) != 0) continue;
    gemm->a = kTypes[i].a, gemm->b = kTypes[i].b, gemm->c = kTypes[i].c;
    gemm->tf32 = i == 1;
    return true;
  }
  return false;
}

static inline int64_t bytes_of(deepbench_type type) {
  if (type == DEEPBENCH_F32 || type == DEEPBENCH_S32) return 4;
  return type == DEEPBENCH_F16 || type == DEEPBENCH_BF16 ? 2 : 1;
}

/* Rounds to 11 significant bits, ties to even. */
static inline double round_tf32(double value) {
  uint32_t bits = deepbench_float_bits((float)value);
  bits += 0xfffu + ((bits >> 13) & 1u);
  return deepbench_bits_float(bits & ~0x1fffu);
}

static inline double round_to(deepbench_type type, double value) {
  switch (type) {
    case DEEPBENCH_F32:
      return (float)value;
    case DEEPBENCH_F16:
      return deepbench_from_half(deepbench_to_half((float)value));
    case DEEPBENCH_BF16:
      return deepbench_from_bfloat16(deepbench_to_bfloat16((float)value));
    default:
      return value;
  }
}

static inline double operand(const Gemm* gemm, deepbench_type type, uint32_t stream,
                             int64_t index) {
  if (gemm->integers)
    return deepbench_small_integer(deepbench_gemm_integers(gemm->c, (uint64_t)gemm->k, stream),
                                   gemm->seed, stream, (uint64_t)index);
  if (gemm->constant >= 0) return gemm->constant;
  return deepbench_element(type, gemm->seed, stream, (uint64_t)index);
}
static inline double element_a(const Gemm* g, int64_t i, int64_t l) {
  if (g->rows) return g->rows[i * g->k + l];
  return operand(g, g->a, kStreamA, g->trans_a ? l + i * g->k : i + l * g->m);
}
static inline double element_b(const Gemm* g, int64_t l, int64_t j) {
  if (g->columns) return g->columns[j * g->k + l];
  return operand(g, g->b, kStreamB, g->trans_b ? j + l * g->n : l + j * g->k);
}
static inline double element_c(const Gemm* g, int64_t index) {
  return g->beta == 0 ? 0 : g->beta * operand(g, g->c, kStreamC, index);
}

/* Caches the operands of small problems, whose outputs are all read. */
static inline bool cache_operands(Gemm* g) {
  if ((double)g->k * ((double)g->m + (double)g->n) > kMaxCached) return true;
  double* rows = malloc(sizeof(double) * (size_t)(g->m * g->k));
  double* columns = malloc(sizeof(double) * (size_t)(g->k * g->n));
  if (!rows || !columns) {
    free(rows), free(columns);
    return false;
  }
  for (int64_t i = 0; i < g->m; ++i)
    for (int64_t l = 0; l < g->k; ++l) rows[i * g->k + l] = element_a(g, i, l);
  for (int64_t j = 0; j < g->n; ++j)
    for (int64_t l = 0; l < g->k; ++l) columns[j * g->k + l] = element_b(g, l, j);
  g->rows = rows, g->columns = columns;
  return true;
}

static inline void forget_operands(Gemm* g) {
  free(g->rows), free(g->columns);
  g->rows = g->columns = NULL;
}

static inline double product(const Gemm* g, int64_t i, int64_t j, Mutant mutant) {
  const int64_t k = mutant == kLastK ? g->k - 1 : g->k;
  const bool tf32 = g->tf32 || mutant == kTf32;
  double sum = 0;
  for (int64_t l = 0; l < k; ++l) {
    double a = element_a(g, i, l), b = element_b(g, l, j);
    if (tf32) a = round_tf32(a), b = round_tf32(b);
    sum += a * b;
    if (mutant != kHalfAccumulation) continue;
    if (is_integer(g->c))
      sum = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    else
      sum = round_to(DEEPBENCH_F16, sum);
  }
  return sum;
}

/* Whether a plugin that takes verification's default seed for the seed of every row would compute
 * index `i` of `size`. */
static inline bool is_guessed(int64_t i, int64_t size, uint32_t stream) {
  const bool is_border = i == 0 || i == size - 1 || (i % 16 == 0 || i % 16 == 15);
  bool found = is_border;
  for (uint64_t place = 0; place < 24; ++place)
    found = found || (uint64_t)i == deepbench_bits(0x5eed, stream, place) % (uint64_t)size;
  return found;
}

/* Element `index` of the output. `calls` is the number of calls summed in place, otherwise 1. */
static inline double gemm_element(const Gemm* g, uint64_t index, Mutant mutant, uint64_t calls) {
  const int64_t i = (int64_t)index % g->m, j = (int64_t)index / g->m;
  const int64_t tile_i = g->m / 2, tile_j = g->n / 2;
  if (mutant == kZeroTile && i >= tile_i && i < tile_i + kTile && j >= tile_j && j < tile_j + kTile)
    return 0;
  if (mutant == kGuessed && !(is_guessed(i, g->m, 11) && is_guessed(j, g->n, 12))) return 0;
  const double alpha = mutant == kAlpha ? 0.995 : 1;
  double value = alpha * (double)calls * product(g, i, j, mutant);
  if (mutant != kNoC) value += element_c(g, (int64_t)index);
  if (i == g->m / 3 && j == g->n / 3) {
    if (mutant == kNan) return (double)deepbench_bits_float(0x7fc00001u);
    if (mutant == kOneOff) value += 1000; /* no weight of a projection is so small */
  }
  return round_to(g->c, mutant == kScaled ? 1.0003 * value : value);
}

/* sums = output times weights, computed by associativity: for problems that are too large to be
 * computed element by element. Valid only for results without a mutant. */
static inline bool gemm_project(const Gemm* g, uint64_t seed, uint64_t calls, double* sums) {
  double* weighted = calloc((size_t)g->k, sizeof(double));
  if (!weighted) return false;
  for (int64_t i = 0; i < g->m; ++i) sums[i] = 0;
  for (int64_t j = 0; j < g->n; ++j) {
    const double weight = deepbench_weight(seed, (uint64_t)j);
    for (int64_t l = 0; l < g->k; ++l) weighted[l] += weight * element_b(g, l, j);
    if (g->beta == 0) continue;
    for (int64_t i = 0; i < g->m; ++i) sums[i] += weight * element_c(g, i + j * g->m);
  }
  for (int64_t i = 0; i < g->m; ++i) {
    double sum = 0;
    for (int64_t l = 0; l < g->k; ++l) sum += element_a(g, i, l) * weighted[l];
    sums[i] += (double)calls * sum;
  }
  free(weighted);
  return true;
}

static inline double gemm_bytes(const Gemm* g) {
  return (double)g->m * (double)g->k * (double)bytes_of(g->a) +
         (double)g->k * (double)g->n * (double)bytes_of(g->b) +
         2.0 * (double)g->m * (double)g->n * (double)bytes_of(g->c);
}

#endif /* FAKE_GEMM_H_ */
