// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "viz/link/engine_link.h"
#include "viz/session/session.h"
#include "viz/window/break_box.h"
#include "viz/window/mistakes_box.h"
#include "viz/window/run_config.h"
#include "viz/window/settings_form.h"

namespace ringscope::viz {

/// What is run and how it is held: settings, controls, breaks, mistakes. Shows the configuration of
/// an opened recording when there is no live run.
class RunPanel : public QWidget {
  Q_OBJECT
 public:
  RunPanel(const Session& session, EngineLink& engine, QWidget* parent = nullptr);

  RunConfig config() const;
  void setConfig(const RunConfig& config);
  /// Why what is asked for cannot work; empty when nothing is known against it.
  QString reasonAgainst(const RunConfig& config) const {
    return refusal(config, settings_->queryHeads());
  }
  /// Whether what is on show is a run that RingScope can do again.
  bool canRunAgain() const;
  /// The recording that is on show, for Reveal.
  void setRecording(const QString& path) { mistakes_->setRecording(path); }

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

  const Session& session_;
  EngineLink& engine_;
  SettingsForm* settings_;
  BreakBox* break_;
  MistakesBox* mistakes_;
  QLabel* run_state_;
  QPushButton *run_, *what_if_, *pause_, *step_, *stop_;
};

}  // namespace ringscope::viz
