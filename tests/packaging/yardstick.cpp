// Something to compile, with nothing of ours in it: how long it takes tells how fast a machine is
// at compiling just now, which .ci/run's limit of CPU time for the whole build is scaled by.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

int main(int count, char** words) {
  std::map<std::string, std::vector<std::function<int(int)>>> steps;
  std::unordered_map<std::string, std::shared_ptr<std::regex>> known;
  for (int i = 0; i < count; ++i) {
    known[words[i]] = std::make_shared<std::regex>(words[i], std::regex::icase);
    steps[words[i]].push_back([i](int value) { return value + i; });
  }
  int sum = 0;
  for (const auto& [word, all] : steps)
    for (const auto& step : all) sum = std::regex_search(word, *known[word]) ? step(sum) : sum;
  std::vector<std::string> sorted(words, words + count);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  for (const auto& word : sorted) std::cout << word << ' ' << sum << '\n';
}
