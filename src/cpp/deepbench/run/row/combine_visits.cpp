// Computes the members of a row that follow from all of its visits.
#include "deepbench/run/row/combine_visits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "deepbench/measure/options.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/measure/visit_variance.hpp"
#include "deepbench/run/row/format_time.hpp"
#include "deepbench/run/row/json_text.hpp"
#include "deepbench/run/row/json_writer.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/row_text.hpp"

namespace deepbench {
namespace {

constexpr double kFarApart = 0.03;  // visits that differ more are named in a note

using Texts = std::vector<std::string>;
using Class = std::pair<std::string, int>;  // operation and decade of time

// The parts of the visits of one row that are needed to combine them.
struct VisitedRow {
  const Texts& visits;
  std::vector<std::string_view> statistics;  // the statistics of each visit
  std::vector<double> medians_ns;

  explicit VisitedRow(const Texts& texts) : visits(texts) {
    if (visits.empty()) throw std::invalid_argument("a row without a visit");
    for (const std::string& visit : visits) {
      statistics.push_back(member_value(visit, "statistics"));
      medians_ns.push_back(member_number(statistics.back(), "median_ns"));
      if (!(medians_ns.back() > 0)) throw std::invalid_argument("a visit without a time");
    }
  }

  Class row_class() const {
    const double decade = std::floor(std::log10(medians_ns.front()));
    return {std::string(member_value(visits.front(), "op")), static_cast<int>(decade)};
  }

  // The values of a member of each visit's statistics.
  std::vector<double> numbers(std::string_view name) const {
    std::vector<double> values;
    for (const std::string_view one : statistics) values.push_back(member_number(one, name));
    return values;
  }
  double sum(std::string_view name) const {
    double total = 0;
    for (const double value : numbers(name)) total += value;
    return total;
  }
};

std::vector<std::string_view> joined_samples(const VisitedRow& row) {
  std::vector<std::string_view> all;
  for (const std::string& visit : row.visits) {
    const auto samples = split_items(member_value(visit, "samples_ns"), '[', ']');
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

// The reason why the measurement ended: the least favorable reason of the visits, unless all visits
// together are as precise as a converged row.
std::string_view joint_stop(const VisitedRow& row, double relative_error) {
  constexpr std::string_view kThrottled = "\"throttled\"", kConverged = "\"converged\"";
  constexpr std::string_view kNoisy = "\"noisy\"";
  constexpr std::array kImprecise = {std::string_view("\"time_limit\""), kNoisy,
                                     std::string_view("\"too_few\"")};
  const auto any_visit = [&](std::string_view reason) {
    return std::any_of(row.statistics.begin(), row.statistics.end(),
                       [&](std::string_view one) { return member_value(one, "stop") == reason; });
  };
  if (any_visit(kThrottled)) return kThrottled;
  if (relative_error <= MeasureOptions().max_error) return kConverged;
  const auto reason = std::find_if(kImprecise.begin(), kImprecise.end(), any_visit);
  return reason == kImprecise.end() ? kNoisy : *reason;
}

double mean_of_all_samples(const VisitedRow& row) {
  const std::vector<double> means = row.numbers("mean_ns"), counts = row.numbers("n");
  double sum = 0;
  for (size_t i = 0; i < means.size(); ++i) sum += means[i] * counts[i];
  return sum / row.sum("n");
}

void write_visits(JsonWriter& json, const VisitedRow& row, const VisitPrior& prior) {
  json.key("visits").begin_object().member("count", static_cast<int64_t>(row.visits.size()));
  json.key("medians_ns").begin_array();
  for (const double ns : row.medians_ns) json.value(ns);
  json.end_array();
  const bool known = prior.degrees > 0;
  json.key("class_degrees_of_freedom")
      .value_or_null(known && std::isfinite(prior.degrees), prior.degrees);
  json.key("class_deviation").value_or_null(known, std::sqrt(prior.variance)).end_object();
}

std::string joint_statistics(const VisitedRow& row, const VisitPrior& prior,
                             const VisitedTime& time, const std::vector<double>& samples) {
  const Statistics all = summarize(samples);
  const std::vector<double> least = row.numbers("min_ns"), most = row.numbers("max_ns");
  JsonWriter json;
  json.begin_object().member("median_ns", time.ns);
  json.member("min_ns", *std::min_element(least.begin(), least.end()));
  json.member("max_ns", *std::max_element(most.begin(), most.end()));
  json.member("q1_ns", all.q1).member("q3_ns", all.q3).member("p99_ns", all.p99);
  json.member("mean_ns", mean_of_all_samples(row)).member("stdev_ns", all.stdev);
  json.member("mad_ns", all.mad).member("relative_standard_error", time.relative_error);
  json.member("low_ns", time.low_ns).member("high_ns", time.high_ns);
  json.member("n", static_cast<int64_t>(row.sum("n")));
  json.member("throttled", static_cast<int64_t>(row.sum("throttled")));
  json.member("retries", static_cast<int64_t>(row.sum("retries")));
  const auto know_waits = std::count_if(
      row.statistics.begin(), row.statistics.end(),
      [](std::string_view one) { return !member_value(one, "waited_share").empty(); });
  if (know_waits > 0)
    json.member("waited_share", row.sum("waited_share") / static_cast<double>(know_waits));
  json.key("stop").literal(joint_stop(row, time.relative_error));
  write_visits(json, row, prior);
  json.end_object();
  return with_members(row.statistics.front(), json.str());
}

std::string joint_rates(std::string_view first, double ns) {
  const std::string_view rates = member_value(first, "rates"), work = member_value(first, "work");
  if (rates.empty() || rates == "null") return "null";
  const double flops = member_number(work, "flops"), bytes = member_number(work, "bytes");
  JsonWriter json;
  json.begin_object().key("tflops").value_or_null(flops != 0, flops / ns / 1e3);
  json.key("gbps").value_or_null(bytes != 0, bytes / ns).end_object();
  return json.str();
}

std::string summed_stages(const VisitedRow& row) {
  JsonWriter json;
  json.begin_object();
  for (const std::string_view stage :
       split_items(member_value(row.visits.front(), "stages_ns"), '{', '}')) {
    const std::string_view quoted = name_of_member(stage);
    const std::string_view name = quoted.substr(1, quoted.size() - 2);
    double total = 0;
    for (const std::string& visit : row.visits)
      total += member_number(member_value(visit, "stages_ns"), name);
    json.member(name, total);
  }
  json.end_object();
  return json.str();
}

std::vector<std::string_view> metrics_of(const std::string& visit) {
  return split_items(member_value(visit, "metrics"), '[', ']');
}

// The geometric mean of a metric over the visits; 0 where a visit lacks it. Visits after the first
// lack what is measured once.
double joint_metric(const VisitedRow& row, std::string_view name) {
  double logarithms = 0;
  for (const std::string& visit : row.visits) {
    const auto metrics = metrics_of(visit);
    const auto metric = std::find_if(metrics.begin(), metrics.end(), [&](std::string_view one) {
      return member_value(one, "name") == name;
    });
    const double value = metric == metrics.end() ? 0 : member_number(*metric, "value");
    if (!(value > 0)) return 0;
    logarithms += std::log(value);
  }
  return std::exp(logarithms / static_cast<double>(row.visits.size()));
}

// Recomputes rates and times of the operation from the time of the row.
std::string joint_metrics(const VisitedRow& row) {
  Texts metrics;
  for (const std::string_view metric : metrics_of(row.visits.front())) {
    const double value = joint_metric(row, member_value(metric, "name"));
    JsonWriter json;
    json.begin_object().member("value", value).end_object();
    metrics.push_back(value > 0 ? with_members(metric, json.str()) : std::string(metric));
  }
  return join_items('[', {metrics.begin(), metrics.end()}, ']');
}

// The observed state of the device, with the mean clock of the visits, which corresponds to the
// row's time.
std::string joint_observed(const VisitedRow& row) {
  const std::string_view first = member_value(row.visits.front(), "observed");
  double sum = 0;
  for (const std::string& visit : row.visits) {
    const double mhz = member_number(member_value(visit, "observed"), "sm_clock_mhz");
    if (mhz == 0) return std::string(first);
    sum += mhz;
  }
  JsonWriter json;
  json.begin_object();
  json.member("sm_clock_mhz", sum / static_cast<double>(row.visits.size())).end_object();
  return with_members(first, json.str());
}

std::string joint_notes(const VisitedRow& row) {
  std::vector<std::string_view> notes;
  for (const std::string& visit : row.visits)
    for (const std::string_view note : split_items(member_value(visit, "notes"), '[', ']'))
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  const auto [least, most] = std::minmax_element(row.medians_ns.begin(), row.medians_ns.end());
  JsonWriter added;
  if (*most > (1 + kFarApart) * *least) {
    added.value("the visits lie apart, from " + format_time(*least, *least) + " to " +
                format_time(*most, *least));
    notes.push_back(added.str());
  }
  return join_items('[', notes, ']');
}

std::string combine(const VisitedRow& row, const VisitPrior& prior) {
  const std::string& first = row.visits.front();
  if (row.visits.size() == 1) return first;
  const VisitedTime time = combine_medians(row.medians_ns, prior);
  const std::vector<std::string_view> texts = joined_samples(row);
  std::vector<double> samples;
  for (const std::string_view text : texts) samples.push_back(number_of(text));
  const auto is_thinned = [](const std::string& visit) {
    return member_value(visit, "samples_kept") != "\"all\"";
  };
  const bool thinned = std::any_of(row.visits.begin(), row.visits.end(), is_thinned);
  const std::pair<std::string_view, std::string> changes[] = {
      {"statistics", joint_statistics(row, prior, time, samples)},
      {"samples_ns", join_items('[', texts, ']')},
      {"samples_kept", thinned ? "\"thinned\"" : "\"all\""},
      {"rates", joint_rates(first, time.ns)},
      {"metrics", joint_metrics(row)},
      {"stages_ns", summed_stages(row)},
      {"observed", joint_observed(row)},
      {"notes", joint_notes(row)}};
  std::string text = first;
  for (const auto& [name, value] : changes)
    text = replace_value(text, member_value(text, name), value);
  return with_thinned_samples(text, kMaxSamples);
}

}  // namespace

std::vector<std::string> combine_visits(const std::vector<Texts>& rows) {
  std::vector<VisitedRow> all;
  std::map<Class, std::vector<VisitVariance>> variances;
  for (const Texts& visits : rows) {
    all.emplace_back(visits);
    variances[all.back().row_class()].push_back(visit_variance(all.back().medians_ns));
  }
  std::map<Class, VisitPrior> priors;
  for (const auto& [row_class, of_rows] : variances) priors[row_class] = fit_visit_prior(of_rows);
  std::vector<std::string> combined;
  combined.reserve(all.size());
  for (const VisitedRow& row : all) combined.push_back(combine(row, priors[row.row_class()]));
  return combined;
}

}  // namespace deepbench
