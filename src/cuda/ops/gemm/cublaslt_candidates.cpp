// The candidates of `best` and `exhaustive`: the results of the heuristics, the same algorithms
// with other clusters and other splits of k, their neighbors, and all other algorithms that the
// library enumerates.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "device.hpp"
#include "ops/gemm/cublaslt_plan.hpp"

namespace deepbench::cuda::lt {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr size_t kMaxIds = 400;
constexpr int kMaxChecks = 2000;     // each check takes a few microseconds
constexpr int kMaxAlgorithms = 256;  // maximum number of ids that the library may enumerate
constexpr size_t kPromising = 8;  // results of the heuristics that come before all other candidates
constexpr size_t kOtherLayouts = 4;  // results of the heuristics for a layout that is seldom better
constexpr size_t kLeaders = 3;       // best results of the heuristics, whose settings are varied
constexpr size_t kMaxSplits = 4;     // per leader
constexpr int64_t kShortestSplit = 128;

constexpr uint32_t kSplits[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
constexpr uint32_t kClusters[] = {0, 2, 3, 5, 6, 4, 8, 7, 9};  // auto, 1x1, 2x1, 1x2, 2x2 ...

int64_t block_count(const Gemm& gemm, const Tile& tile) {
  if (tile.rows == 0 || tile.columns == 0) return 0;
  return ((gemm.m + tile.rows - 1) / tile.rows) * ((gemm.n + tile.columns - 1) / tile.columns) *
         gemm.batch;
}

// The values that a setting of an algorithm can take.
std::vector<uint32_t> allowed_values(const cublasLtMatmulAlgo_t& algo,
                                     cublasLtMatmulAlgoCapAttributes_t attribute) {
  const CublasLt& library = cublaslt();
  size_t bytes = 0;
  if (library.cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, nullptr, 0, &bytes) !=
          CUBLAS_STATUS_SUCCESS ||
      bytes < sizeof(uint32_t))
    return {0};
  std::vector<uint32_t> values(bytes / sizeof(uint32_t));
  if (library.cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, values.data(), bytes, &bytes) !=
      CUBLAS_STATUS_SUCCESS)
    return {0};
  return values;
}

uint32_t capability(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoCapAttributes_t attribute) {
  uint32_t value = 0;
  size_t written = 0;
  cublaslt().cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, &value, sizeof value, &written);
  return value;
}

// Identifies the algorithm by its settings if they describe it completely, otherwise by its
// position in the heuristics' list.
Candidate candidate_for(const Query& query, const Descriptors& descriptors, int heuristic,
                        const cublasLtMatmulAlgo_t& algo) {
  Candidate candidate;
  candidate.layout = query.layout.name;
  candidate.algorithm = settings_of(algo);
  const auto rebuilt = check_algorithm(candidate.algorithm, query, descriptors);
  if (!rebuilt || std::memcmp(&rebuilt->algo, &algo, sizeof algo) != 0)
    candidate.heuristic = heuristic;
  return candidate;
}

class Collector {
 public:
  explicit Collector(int64_t limit)
      : max_candidates_(limit > 0 ? std::min(size_t(limit), kMaxIds) : kMaxIds) {}

  const std::vector<std::string>& ids() const { return ids_; }
  bool is_full() const { return ids_.size() >= max_candidates_; }
  void add(const Candidate& candidate) {
    std::string id = candidate.str();
    if (!is_full() && seen_.insert(id).second) ids_.push_back(std::move(id));
  }

 private:
  size_t max_candidates_;
  std::vector<std::string> ids_;
  std::set<std::string> seen_;
};

// The candidates of one layout.
class Explorer {
 public:
  Explorer(const Query& query, Collector& collector, Heuristics& heuristics)
      : query_(query),
        collector_(collector),
        descriptors_(query.layout.executed),
        heuristics_(&heuristics.query(query, kManyResults)) {}

  // Adds the positions [begin, end) of the heuristics' list.
  void add_heuristics(size_t begin, size_t end) {
    for (size_t i = begin; i < std::min(end, heuristics_->results.size()); ++i)
      collector_.add(candidate_for(query_, descriptors_, int(i) + 1, heuristics_->results[i].algo));
  }

  // Runs the library's first choice with other clusters of blocks.
  void add_clusters() {
    const std::vector<Algorithm> leaders = leading_algorithms();
    if (!leaders.empty()) try_clusters(leaders.front());
  }

  // Splits k among blocks if the output alone does not occupy the device.
  void add_splits() {
    for (const Algorithm& leader : leading_algorithms())
      for (const uint32_t split : splits(leader)) {
        Algorithm varied = leader;
        varied.split_k = split;
        for (const uint32_t reduction : reductions(leader)) {
          varied.reduction = reduction;
          try_algorithm(varied);
        }
      }
  }

  // Changes one setting of each leader at a time.
  void add_neighbors() {
    for (const Algorithm& leader : leading_algorithms()) {
      const auto algo =
          configure_algorithm(leader, query_.layout.executed.precision, query_.device);
      if (!algo) continue;
      try_clusters(leader);
      try_variations(leader, &Algorithm::stages,
                     allowed_values(*algo, CUBLASLT_ALGO_CAP_STAGES_IDS));
      if (capability(*algo, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT))
        try_variations(leader, &Algorithm::swizzle, {0, 1});
      try_variations(leader, &Algorithm::tile, allowed_values(*algo, CUBLASLT_ALGO_CAP_TILE_IDS));
    }
  }

  // Adds all remaining algorithms, those of the leaders first.
  void add_remaining() {
    for (const uint32_t id : algorithm_ids()) {
      Algorithm algorithm;
      algorithm.id = id;
      const auto algo =
          configure_algorithm(algorithm, query_.layout.executed.precision, query_.device);
      if (!algo) continue;
      for (const uint32_t tile : allowed_values(*algo, CUBLASLT_ALGO_CAP_TILE_IDS)) {
        algorithm.tile = tile;
        try_variations(algorithm, &Algorithm::stages,
                       allowed_values(*algo, CUBLASLT_ALGO_CAP_STAGES_IDS));
        if (is_done()) return;
      }
    }
  }

 private:
  bool is_done() const { return checks_ >= kMaxChecks || collector_.is_full(); }

  std::vector<Algorithm> leading_algorithms() const {
    std::vector<Algorithm> all;
    for (size_t i = 0; i < std::min(kLeaders, heuristics_->results.size()); ++i)
      all.push_back(settings_of(heuristics_->results[i].algo));
    return all;
  }

  // The splits whose number of blocks is nearest to the number of multiprocessors.
  std::vector<uint32_t> splits(const Algorithm& leader) const {
    const double busy = device_facts(query_.device).multiprocessors;
    const auto unsplit = double(block_count(query_.layout.executed, tile_size(leader.tile)));
    if (unsplit == 0 || unsplit >= busy) return {};
    std::vector<uint32_t> all;
    for (const uint32_t split : kSplits)
      if (query_.layout.executed.k / split >= kShortestSplit) all.push_back(split);
    const auto distance = [&](uint32_t split) {
      return std::abs(std::log(unsplit * split / busy));
    };
    std::stable_sort(all.begin(), all.end(),
                     [&](uint32_t a, uint32_t b) { return distance(a) < distance(b); });
    all.resize(std::min(all.size(), kMaxSplits));
    return all;
  }

  // Returns the reduction in the workspace and, before it, the leader's reduction if that differs.
  std::vector<uint32_t> reductions(const Algorithm& leader) const {
    std::vector<uint32_t> all = {CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE};
    const bool other = leader.reduction != 0 && leader.reduction != all.front();
    if (other) all.insert(all.begin(), leader.reduction);
    return all;
  }

  bool try_algorithm(const Algorithm& algorithm) {
    if (is_done()) return false;
    ++checks_;
    if (!check_algorithm(algorithm, query_, descriptors_)) return false;
    Candidate candidate;
    candidate.layout = query_.layout.name;
    candidate.algorithm = algorithm;
    collector_.add(candidate);
    return true;
  }

  void try_variations(Algorithm algorithm, uint32_t Algorithm::*setting,
                      const std::vector<uint32_t>& values) {
    for (const uint32_t value : values) {
      algorithm.*setting = value;
      try_algorithm(algorithm);
    }
  }

  void try_clusters(const Algorithm& algorithm) {
    try_variations(algorithm, &Algorithm::cluster, {std::begin(kClusters), std::end(kClusters)});
  }

  std::vector<uint32_t> algorithm_ids() const {
    const GemmTypes t = gemm_types(query_.layout.executed.precision);
    std::vector<int> listed(kMaxAlgorithms);
    int count = 0;
    if (cublaslt().cublasLtMatmulAlgoGetIds(handle(query_.device), t.compute, t.scale, t.a, t.b,
                                            t.c, t.c, kMaxAlgorithms, listed.data(),
                                            &count) != CUBLAS_STATUS_SUCCESS)
      count = 0;
    std::vector<uint32_t> ids;
    const auto add = [&](uint32_t id) {
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    };
    for (const Result& result : heuristics_->results) add(settings_of(result.algo).id);
    for (int i = 0; i < count; ++i) add(uint32_t(listed[size_t(i)]));
    return ids;
  }

  Query query_;
  Collector& collector_;
  Descriptors descriptors_;
  const HeuristicsResult* heuristics_;
  int checks_ = 0;
};

}  // namespace

std::vector<std::string> gemm_candidates(const Gemm& gemm, const plugin::Options& options,
                                         int64_t limit, Heuristics& heuristics) {
  const Plan first = plan_gemm(gemm, options, "", heuristics);
  const uint64_t workspace = uint64_t(std::max<int64_t>(0, options.workspace));
  Collector collector(limit);
  collector.add(candidate_for({first.layout, options.device, workspace},
                              Descriptors(first.layout.executed), 0, first.algo));

  const auto layouts = plugin::gemm_layouts(gemm, options, /*in_place=*/false);
  std::vector<Explorer> explorers;
  for (auto layout = layouts.rbegin(); layout != layouts.rend(); ++layout)
    explorers.emplace_back(Query{*layout, options.device, workspace}, collector, heuristics);
  Explorer& preferred = explorers.front();  // the layout for tensor cores, if there is one
  preferred.add_heuristics(0, kPromising);
  for (size_t i = 1; i < explorers.size(); ++i) explorers[i].add_heuristics(0, kOtherLayouts);
  // Winners beyond the heuristics' first results mostly have another cluster than the library's
  // first choice (docs/results/log/h100.md), so that these come before other splits of k.
  preferred.add_clusters();
  preferred.add_splits();
  preferred.add_heuristics(kPromising, kManyResults);
  preferred.add_neighbors();
  for (size_t i = 1; i < explorers.size(); ++i)
    explorers[i].add_heuristics(kOtherLayouts, kManyResults);
  preferred.add_remaining();
  return collector.ids();
}

}  // namespace deepbench::cuda::lt
