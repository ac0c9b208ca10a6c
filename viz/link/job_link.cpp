// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/link/job_link.h"

#include <QStringList>

#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/prose.h"
#include "viz/session/problem.h"

namespace ringscope::viz {
namespace {

constexpr int kLookMs = 100;
/// Between two readings: at least this, and three times as long as the last one took.
constexpr qint64 kLeastRestMs = 300;
constexpr std::int64_t kLongNs = 3'000'000'000;

struct Reading {
  std::shared_ptr<traces::Trace> trace;
  std::optional<traces::Diagnosis> diagnosis;
  QString problem;
};

/// Reads a recording that grows. Cut or missing parts are no damage yet.
Reading readRecording(const std::string& folder, bool diagnosed) {
  Reading reading;
  try {
    reading.trace = traces::openTrace(folder);
    reading.trace->readEvents();
    if (diagnosed) reading.diagnosis = traces::diagnose(*reading.trace);
  } catch (...) {
    reading.problem = describeProblem(std::current_exception());
  }
  return reading;
}

}  // namespace

JobLink::JobLink(QObject* parent) : QObject(parent) {
  connect(&timer_, &QTimer::timeout, this, &JobLink::look);
}

void JobLink::listen(traces::ListenOptions options) {
  listener_ = std::make_unique<traces::Listener>(std::move(options));
  timer_.start(kLookMs);
  Q_EMIT changed();
}

void JobLink::look() {
  const int number = job_.number;
  job_ = listener_->job();
  if (job_.number != number) {
    background_.cancel("read");
    reading_ = over_ = false;
    lines_read_ = 0;
    border_read_ = -1;
    rest_ms_ = 0;
    trace_.reset();
    diagnosis_.reset();
    problem_.clear();
    Q_EMIT jobBegan();
  }
  read();
  tell();
}

void JobLink::read() {
  if (over_ || reading_ || (since_read_.isValid() && since_read_.elapsed() < rest_ms_ && live()))
    return;
  if (job_.lines == lines_read_) {
    if (live()) return;
    over_ = true;
    return Q_EMIT jobEnded();
  }
  reading_ = true;
  lines_read_ = job_.lines;
  const bool diagnosed = job_.border > border_read_ || !live();
  border_read_ = job_.border;
  reading_for_.start();
  background_.request(
      "read",
      [folder = job_.folder, diagnosed](const std::stop_token&) {
        return readRecording(folder, diagnosed);
      },
      [this](const Reading& reading) {
        problem_ = reading.problem;
        take(reading.trace, reading.diagnosis);
      });
}

void JobLink::take(const std::shared_ptr<traces::Trace>& trace,
                   const std::optional<traces::Diagnosis>& diagnosis) {
  reading_ = false;
  rest_ms_ = std::max(kLeastRestMs, 3 * reading_for_.elapsed());
  since_read_.start();
  if (!trace) return;
  trace_ = trace;
  if (diagnosis) diagnosis_ = diagnosis;
  Q_EMIT grew();
}

void JobLink::tell() {
  const auto waits = traces::whoWaits(job_.ranks);
  QStringList lines;
  if (traces::hangs(waits, kLongNs))
    for (const std::string& line : traces::describeWaits(waits))
      lines << QString::fromStdString(line);
  waits_ = lines.join("\n");
  const QString told = sentence() + waits_ + QString::number(static_cast<int>(job_.pause)) +
                       QString::fromStdString(job_.pause_refusal);
  if (told == told_) return;
  told_ = told;
  Q_EMIT changed();
}

QString JobLink::invitation() const {
  if (!listener_) return {};
  const QString token = QString::fromStdString(listener_->token());
  return "RINGSCOPE_LIVE=" + QString::fromStdString(listener_->address()) +
         (token.isEmpty() ? "" : " RINGSCOPE_TOKEN=" + token);
}

QString JobLink::sentence() const {
  if (!listener_) return {};
  if (job_.number == 0)
    return job_.refused.empty()
               ? QString("listening")
               : "listening; refused: " + QString::fromStdString(job_.refused.back());
  int here = 0;
  for (const traces::RankSeen& rank : job_.ranks) here += rank.here;
  QString words = here == 0 ? QString("the job has ended")
                            : QString("job of %1 · %2 connected")
                                  .arg(traces::describeCount(job_.world_size, "rank").c_str())
                                  .arg(here);
  if (job_.border >= 0) words += QString(" · training step %1 has ended").arg(job_.border);
  switch (job_.pause) {
    case traces::PauseState::kGoing:
      break;
    case traces::PauseState::kAsked:
    case traces::PauseState::kPausing:
      words += " · going to a step border";
      break;
    case traces::PauseState::kPaused:
      words += QString(" · held after training step %1").arg(job_.pause_border);
  }
  return words;
}

void JobLink::pause() {
  if (!listener_) return;
  job_.pause == traces::PauseState::kGoing ? listener_->pause() : listener_->go();
}

void JobLink::step() {
  if (listener_) listener_->step();
}

}  // namespace ringscope::viz
