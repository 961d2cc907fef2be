// The reproduction as programs read it.
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/results.h"
#include "kalstream/version.h"
#include "kernels/dispatch.h"
#include "paper/report_parts.h"

namespace kalstream::paper {
namespace {

using Json = nlohmann::ordered_json;

Json interval_json(double middle, double half) {
  return {{"middle", json_number(middle)}, {"half", json_number(half)}};
}

Json stream_json(const Stream& s) {
  return {{"stream", s.name},
          {"label", s.label},
          {"origin", s.origin},
          {"substitute", s.substitute},
          {"missing", s.missing()}};
}

Json row_json(const Table1Row& row) {
  const Summary& m = row.summary;
  Json j{{"learner", row.variant->key}, {"label", row.variant->label}};
  j["published"] = nullptr;
  if (row.published != nullptr)
    j["published"] = {{"nse", interval_json(row.published->nse.middle, row.published->nse.half)},
                      {"knse", interval_json(row.published->knse.middle, row.published->knse.half)},
                      {"seconds", row.published->seconds}};
  j["nse"] = interval_json(m.nse_band_middle, m.nse_band_half);
  j["knse"] = interval_json(m.knse_band_middle, m.knse_band_half);
  j["nse_mean"] = json_number(m.nse_mean);
  j["nse_deviation"] = json_number(m.nse_deviation);
  j["knse_mean"] = json_number(m.knse_mean);
  j["seconds"] = json_number(m.seconds);
  j["update_fraction"] = json_number(m.update_fraction);
  j["runs"] = Json::array();
  for (std::size_t k = 0; k < row.outcome.runs.size(); ++k) {
    const RunResult& run = row.outcome.runs[k];
    j["runs"].push_back({{"seed", row.outcome.seeds[k]},
                         {"nse", json_number(run.nse)},
                         {"knse", json_number(run.knse)},
                         {"seconds", run.seconds},
                         {"rejected_updates", run.rejected_updates}});
  }
  return j;
}

Json table2_json(const Table2& t) {
  Json parts = Json::array();
  for (const Table2Part& part : t.parts) {
    Json j{{"n", part.n}, {"streams", Json::array()}, {"rows", Json::array()}};
    for (const Stream& s : part.streams) j["streams"].push_back(stream_json(s));
    for (const Table2Row& row : part.rows) {
      Json one{{"learner", row.variant->key}, {"label", row.variant->label}};
      one["published_steps"] = nullptr;
      if (row.published != nullptr) {
        one["published_steps"] = Json::array();
        for (const double v : row.published->steps)
          one["published_steps"].push_back(json_number(v));
        one["published_seconds"] = Json::array();
        for (const double v : row.published->seconds)
          one["published_seconds"].push_back(json_number(v));
      }
      one["attempts"] = row.attempts();
      one["sustained"] = row.sustained();
      one["median_steps"] = json_number(row.median_steps());
      one["median_seconds"] = json_number(row.median_seconds());
      one["runs"] = Json::array();
      for (std::size_t s = 0; s < row.runs.size(); ++s)
        for (std::size_t k = 0; k < row.runs[s].size(); ++k) {
          const RunResult& run = row.runs[s][k];
          one["runs"].push_back(
              {{"stream", part.streams[s].name},
               {"seed", t.seeds[k]},
               {"sustained_at", run.sustained_at ? Json(*run.sustained_at) : Json(nullptr)},
               {"seconds", run.seconds}});
        }
      j["rows"].push_back(std::move(one));
    }
    parts.push_back(std::move(j));
  }
  return parts;
}

Json search_json(const SearchResult& s) {
  Json j{{"stream", s.stream},
         {"learner", s.search.contender.name},
         {"rows", s.search.evaluation.steps},
         {"seeds", s.search.seeds},
         {"keys", Json::array()},
         {"points", Json::array()}};
  for (const GridAxis& axis : s.search.axes) j["keys"].push_back(axis.key);
  for (const GridPoint& p : s.surface)
    j["points"].push_back({{"values", p.values},
                           {"nse_mean", json_number(p.mean)},
                           {"nse_deviation", json_number(p.deviation)}});
  j["best"] = best_point(s.surface);
  j["published"] = published_point(s);
  return j;
}

}  // namespace

std::string results_json(const Reproduction& r) {
  Json root{{"version", version()},      {"date", today()},
            {"machine", machine_name()}, {"kernels", kernels::target_name()},
            {"command", r.command},      {"quick", r.quick}};
  if (r.table1) {
    root["table1"] = {{"seeds", r.table1->seeds}, {"streams", Json::array()}};
    for (const Table1Stream& s : r.table1->streams) {
      Json j = stream_json(s.stream);
      j["rows"] = Json::array();
      for (const Table1Row& row : s.rows) j["rows"].push_back(row_json(row));
      root["table1"]["streams"].push_back(std::move(j));
    }
  }
  if (r.table2) root["table2"] = {{"seeds", r.table2->seeds}, {"parts", table2_json(*r.table2)}};
  if (!r.searches.empty()) {
    root["searches"] = Json::array();
    for (const SearchResult& s : r.searches) root["searches"].push_back(search_json(s));
  }
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kalstream::paper
