// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/mistakes_box.h"

#include <QHBoxLayout>
#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/format/core/error.h"
#include "traces/format/storage/sealed.h"
#include "viz/kit/tick_box.h"
#include "viz/window/injected.h"

namespace ringscope::viz {
namespace {

/// The mistake as a ticked box asks for it: an id, or one with where alone it is made.
void askFor(QCheckBox* box, const QString& asked) {
  box->setProperty("asked", asked);
  box->setToolTip(describeAsked(asked.toStdString()));
}

}  // namespace

MistakesBox::MistakesBox(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(8);
  auto* head = new QHBoxLayout;
  auto* title = new QLabel("MISTAKES", this);
  title->setObjectName("section");
  count_ = new QLabel(this);
  count_->setObjectName("dim");
  head->addWidget(title);
  head->addStretch(1);
  head->addWidget(count_);
  column->addLayout(head);
  reveal_ = new QPushButton("Reveal", this);
  reveal_->setToolTip("Say what was injected into the recording on show");
  revealed_ = new QLabel(this);
  revealed_->setObjectName("dim");
  revealed_->setWordWrap(true);
  connect(reveal_, &QPushButton::clicked, this, &MistakesBox::reveal);
  keep_ = new TickBox("Keep what this run had", this);
  keep_->setToolTip(
      "Run again and What if inject what was injected into the recording on show, without saying "
      "what. What was added or taken away while it ran is not done again");
  connect(keep_, &QCheckBox::toggled, this, &MistakesBox::chosenChanged);
  column->addWidget(reveal_);
  column->addWidget(revealed_);
  column->addWidget(keep_);
  column->addWidget(makeList());
  setRecording({});
  keep_->hide();
  chosenChanged();
}

/// A box for each mistake that the engine can make, under the heading of its subject.
QWidget* MistakesBox::makeList() {
  auto* list = new QWidget(this);
  auto* rows = new QVBoxLayout(list);
  rows->setContentsMargins(0, 0, 0, 0);
  std::string subject;
  for (const auto& mistake : traces::mistakeCatalogue()) {
    if (!mistake.injectable) continue;
    if (mistake.subject != subject) {
      subject = mistake.subject;
      auto* heading = new QLabel(QString::fromStdString(subject), list);
      heading->setObjectName("dim");
      rows->addWidget(heading);
    }
    auto* box = new TickBox(QString::fromStdString(mistake.label), list);
    box->setProperty("id", QString::fromStdString(mistake.id));
    askFor(box, QString::fromStdString(mistake.id));
    boxes_ << box;
    connect(box, &QCheckBox::toggled, this, [this, box](bool on) {
      if (!on) askFor(box, box->property("id").toString());
      chosenChanged();
    });
    rows->addWidget(box);
  }
  return list;
}

void MistakesBox::chosenChanged() {
  const auto count = chosen().size();
  const bool kept = !keep_->isHidden() && keep_->isChecked();
  count_->setText(count == 0 && kept ? kept_
                  : count == 0       ? "none injected"
                                     : QString(kept ? "%1 added" : "%1 injected").arg(count));
  Q_EMIT changed();
}

QStringList MistakesBox::sealed() const {
  return keep_->isHidden() || !keep_->isChecked() ? QStringList() : sealed_;
}

QStringList MistakesBox::chosen() const {
  QStringList ids;
  for (const QCheckBox* box : boxes_)
    if (box->isChecked()) ids << box->property("asked").toString();
  return ids;
}

void MistakesBox::setChosen(const QStringList& mistakes) {
  for (QCheckBox* box : boxes_) {
    const QString id = box->property("id").toString();
    const auto asked = std::ranges::find_if(
        mistakes, [&](const QString& text) { return text == id || text.startsWith(id + ':'); });
    const bool chosen = asked != mistakes.end();
    askFor(box, chosen ? *asked : id);
    box->setChecked(chosen);
  }
}

void MistakesBox::offerFor(const RunConfig& next) {
  for (QCheckBox* box : boxes_) {
    const QString asked = box->property("asked").toString(),
                  reason = box->isChecked() ? QString() : reasonAgainst(asked, next);
    box->setEnabled(reason.isEmpty());
    const QString title = describeAsked(asked.toStdString());
    box->setToolTip(reason.isEmpty() ? title : title + "\n▲ " + reason);
  }
}

void MistakesBox::setRecording(const QString& path) {
  recording_ = path;
  reveal_->setEnabled(!path.isEmpty());
  revealed_->clear();
}

void MistakesBox::setOpened(const QString& path, bool can_run_again) {
  setRecording(path);
  sealed_.clear();
  keep_->hide();
  if (can_run_again) readSealed(path);
  chosenChanged();
}

void MistakesBox::readSealed(const QString& path) {
  setChosen({});
  std::vector<std::string> documents;
  bool changed = false;
  try {
    documents = traces::readSealed(path.toStdString());
    const Injected injected(documents);
    sealed_ = injected.fromStart();
    changed = injected.changed();
  } catch (const Error&) {  // Reveal says why
  }
  keep_->setChecked(true);
  keep_->setText(changed ? "Keep what this run began with" : "Keep what this run had");
  kept_ = changed ? "as it began" : "as recorded";
  keep_->setVisible(!documents.empty());
}

void MistakesBox::reveal() {
  try {
    const auto documents = traces::readSealed(recording_.toStdString());
    revealed_->setText(documents.empty() ? "Nothing was sealed in this recording."
                                         : Injected(documents).describe());
  } catch (const Error& error) {
    revealed_->setText(QString("▲ ") + error.what());
  }
}

}  // namespace ringscope::viz
