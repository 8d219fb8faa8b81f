// An algorithm of cuBLASLt with its settings, as a candidate's id, which is the same on every
// machine with the same library and device, and as text for readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deepbench::cuda::lt {

// The attributes of cublasLtMatmulAlgoConfigAttributes_t.
struct Algorithm {
  uint32_t id = 0, tile = 0, stages = 0, split_k = 1, reduction = 0, swizzle = 0, custom = 0,
           inner = 0, cluster = 0;

  std::string str() const;   // "id=66,tile=23,stages=35,splitk=4,reduction=2", without defaults
  std::string text() const;  // "algorithm 66, tile 128x256, stages 64xauto, split-k 4"
};

// A layout of gemm_layouts() with an algorithm or a position in the heuristics' list.
struct Candidate {
  std::string layout;  // "plain", "tn"
  // 0: the library's default; n: the n-th result of the heuristics; -1: `algorithm`.
  int heuristic = -1;
  Algorithm algorithm;

  std::string str() const;  // "tn:id=66,tile=23", "plain:heuristic=3"
};

// Whether the text has the form of a candidate's id. The library or the device may still reject it.
bool parse_candidate(std::string_view text, Candidate* candidate);

struct Tile {
  int64_t rows = 0, columns = 0;  // 0: unknown
};
Tile tile_size(uint32_t number);

// Returns, for example, "128x256", or "#9999" for a number that is not in the table of known names.
std::string tile_name(uint32_t number);
std::string stages_name(uint32_t number);
std::string cluster_name(uint32_t number);

}  // namespace deepbench::cuda::lt
