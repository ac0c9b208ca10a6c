// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QWidget>
#include <optional>

#include "viz/link/engine_link.h"
#include "viz/session/session.h"
#include "viz/window/break_box.h"
#include "viz/window/mistakes_box.h"
#include "viz/window/run_config.h"
#include "viz/window/settings_form.h"

namespace ringscope::viz {

/// The settings of a run, its controls, breaks and mistakes. Shows the configuration of
/// an opened recording when there is no live run.
class RunPanel : public QWidget {
  Q_OBJECT
 public:
  RunPanel(const Session& session, EngineLink& engine, QWidget* parent = nullptr);

  RunConfig config() const;
  void setConfig(const RunConfig& config);
  /// Sets the command prefix of the machine that runs the next run.
  void setRunOn(const QString& prefix) { settings_->setRunOn(prefix); }
  /// Why what is asked for cannot work; empty when nothing is known against it.
  QString reasonAgainst(const RunConfig& config) const {
    return refusal(config, settings_->queryHeads());
  }
  /// Whether what is on show is a run that RingScope can do again.
  bool canRunAgain() const;
  /// The recording that is on show, for Reveal.
  void setRecording(const QString& path) { mistakes_->setRecording(path); }
  /// The same of one that was opened: the next run is made as it was.
  void setOpened(const QString& path) { mistakes_->setOpened(path, canRunAgain()); }
  /// Returns the settings of the recording on show; for a job that was recorded elsewhere, those of
  /// the form.
  RunConfig recordedConfig() const;

 Q_SIGNALS:
  void runRequested();
  /// Run again with what has been changed, beside what is on show.
  void whatIfRequested();

 private:
  QLayout* makeButtons();
  void connectControls();
  void refresh();
  int ringSteps() const;
  void showRecorded();
  QString missingData() const;
  QString unseenMistakes() const;
  QString describeForeign() const;
  QString describeState(const QString& reason) const;

  const Session& session_;
  EngineLink& engine_;
  SettingsForm* settings_;
  BreakBox* break_;
  MistakesBox* mistakes_;
  QLabel *shown_, *run_state_;
  QPushButton *run_, *what_if_, *pause_, *step_, *stop_;
  std::optional<traces::RunSpec> recorded_;  // of the recording that was opened
  QString recorded_refusal_;  // why that recording's settings cannot be run, or empty
};

}  // namespace ringscope::viz
