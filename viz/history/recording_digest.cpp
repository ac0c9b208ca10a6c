// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/history/recording_digest.h"

#include "traces/exchange/import/format.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/prose.h"
#include "traces/format/trace/trace.h"
#include "viz/scene/groups.h"
#include "viz/scene/run_words.h"
#include "viz/session/problem.h"

namespace ringscope::viz {
namespace {

constexpr int kDigestVersion = 1;
constexpr double kPicturePhase = 0.55;  // blocks are on their way
constexpr std::size_t kMostSettings = 100;

/// Returns the second ring step of the recording; null when it has no ring steps.
std::shared_ptr<const RingScene> pictureScene(const traces::Trace& trace) {
  const auto& moments = trace.moments();
  if (moments.empty()) return nullptr;
  Cursor cursor;
  cursor.place = moments[std::min<std::size_t>(1, moments.size() - 1)];
  cursor.phase = kPicturePhase;
  const auto ranks = groupRanks(trace, 0);
  if (ranks.empty()) return nullptr;
  cursor.rank = ranks.front();
  auto scene = std::make_shared<const RingScene>(makeRingScene(trace, cursor));
  return scene->ranks.empty() ? nullptr : scene;
}

}  // namespace

ShortVerdict shortVerdict(const traces::Diagnosis& diagnosis) {
  using Kind = ShortVerdict::Kind;
  if (!diagnosis.problem.empty())
    return {Kind::kOpen, "– " + QString::fromStdString(diagnosis.problem)};
  const auto findings = diagnosis.findings();
  if (!findings.empty()) {
    QString words = "▲ " + QString::fromStdString(findings.front().title);
    if (findings.size() > 1) words += QString(" and %1 more").arg(findings.size() - 1);
    return {Kind::kWrong, words};
  }
  if (!diagnosis.failure.empty())
    return {Kind::kWrong, "▲ " + QString::fromStdString(diagnosis.failure)};
  return {traces::isClear(diagnosis) ? Kind::kRight : Kind::kOpen,
          QString::fromStdString(traces::headline(diagnosis))};
}

RecordingDigest readDigest(const std::string& path, std::int64_t most_judged,
                           std::shared_ptr<const RingScene>& scene) {
  RecordingDigest digest;
  try {
    digest.bytes = static_cast<qint64>(traces::sizeOfRecording(path));
    const auto trace = traces::openTrace(path);
    digest.headline = QString::fromStdString(runHeadline(*trace, false));
    if (const auto* run = trace->run()) digest.settings = listSettings(*run);
    scene = pictureScene(*trace);
    if (digest.bytes > most_judged) return digest;
    trace->readEvents();
    digest.verdict = shortVerdict(traces::diagnose(*trace));
  } catch (...) {
    digest.problem = describeProblem(std::current_exception());
    // The list names the file already.
    if (digest.problem.startsWith(QString::fromStdString(path)))
      digest.problem.remove(0, static_cast<qsizetype>(path.size()));
    while (digest.problem.startsWith(':') || digest.problem.startsWith(' '))
      digest.problem.remove(0, 1);
  }
  return digest;
}

QByteArray encodeDigest(const RecordingDigest& digest) {
  const nlohmann::json json = {{"version", kDigestVersion},
                               {"headline", digest.headline.toStdString()},
                               {"settings", digest.settings},
                               {"verdict", digest.verdict.words.toStdString()},
                               {"kind", static_cast<int>(digest.verdict.kind)},
                               {"bytes", digest.bytes},
                               {"problem", digest.problem.toStdString()}};
  return QByteArray::fromStdString(
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::optional<RecordingDigest> decodeDigest(const QByteArray& text) {
  try {
    const auto json = nlohmann::json::parse(text.toStdString());
    if (json.at("version") != kDigestVersion || json.at("settings").size() > kMostSettings)
      return std::nullopt;
    const auto words = [&json](const char* key) {
      return QString::fromStdString(json.at(key).get<std::string>());
    };
    RecordingDigest digest;
    digest.headline = words("headline");
    digest.settings = json.at("settings").get<RunSettings>();
    const int kind = json.at("kind").get<int>();
    if (kind < 0 || kind > static_cast<int>(ShortVerdict::Kind::kOpen)) return std::nullopt;
    digest.verdict = {static_cast<ShortVerdict::Kind>(kind), words("verdict")};
    digest.bytes = json.at("bytes").get<qint64>();
    digest.problem = words("problem");
    return digest;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace ringscope::viz
