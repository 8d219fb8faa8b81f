// Reads the lines that ask for chains.
#include "deepbench/run/chain/chain_request.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

constexpr std::string_view kChain = "chain ";
// The largest models have some thousand kernels.
constexpr size_t kMaxCalls = 100000, kMaxProblems = 10000, kShownBytes = 20;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

size_t parse_index(std::string_view word, size_t problems) {
  size_t index = 0;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data(), end, index);
  if (read.ec != std::errc() || read.ptr != end || index >= problems)
    throw InvalidProblem("chain: a call is the number of a problem, from 0 to " +
                         std::to_string(problems - 1) + ", not '" +
                         printable(std::string(word.substr(0, kShownBytes))) + "'");
  return index;
}

void parse_calls(std::string_view text, size_t problems, ChainRequest& request) {
  for (const std::string_view word : split(text, ' ')) {
    if (word.find('=') != std::string_view::npos)
      request.options += std::string(word) + " ";
    else if (!word.empty())
      request.order.push_back(parse_index(word, problems));
    if (request.order.size() > kMaxCalls)
      throw InvalidProblem("chain: has more than " + std::to_string(kMaxCalls) + " calls");
  }
}

// The ranks would have to make every call of the chain at the same time.
void require_no_collective(const Problem& problem) {
  if (problem.operation().is_collective())
    throw InvalidProblem("chain: " + problem.op() + " needs several ranks, and a chain has one");
}

}  // namespace

bool is_chain_line(std::string_view line) { return line.substr(0, kChain.size()) == kChain; }

ChainRequest parse_chain(std::string_view line) {
  const std::vector<std::string_view> parts = split(line.substr(kChain.size()), ';');
  const size_t problems = parts.size() - 1;
  if (problems == 0) throw InvalidProblem("chain: must be chain NUMBERS ; PROBLEM ; PROBLEM ...");
  if (problems > kMaxProblems)
    throw InvalidProblem("chain: has more than " + std::to_string(kMaxProblems) + " problems");
  ChainRequest request;
  parse_calls(parts.front(), problems, request);
  request.calls.resize(problems);
  for (const size_t index : request.order) ++request.calls[index];
  for (size_t i = 0; i < problems; ++i) {
    request.problems.push_back(Problem::parse(parts[i + 1]));
    require_no_collective(request.problems.back());
    if (request.calls[i] == 0)
      throw InvalidProblem("chain: no call is one of problem " + std::to_string(i));
  }
  return request;
}

}  // namespace deepbench
