// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/mistakes_box.h"

#include <QHBoxLayout>
#include <nlohmann/json.hpp>

#include "traces/core/error.h"
#include "traces/mistakes/catalogue.h"
#include "traces/storage/sealed.h"

namespace ringscope::viz {
namespace {

/// Those that the engine can inject, in words that fit the panel.
const std::pair<const char*, const char*> kMistakes[] = {
    {"missing_position_ids", "Position ids not sharded"},
    {"naive_sum_merge", "Sum without LSE weights"},
    {"missing_cp_grad_reduce", "No gradient sync over cp"},
};

/// What the sealed documents of a recording say was injected, in words.
QString describeSealed(const std::vector<std::string>& documents) {
  QStringList found;
  for (const std::string& document : documents) {
    const auto json = nlohmann::json::parse(document, nullptr, false);
    if (!json.is_object()) continue;
    for (const auto& id : json.value("mistakes", nlohmann::json::array())) {
      const auto* mistake = id.is_string() ? traces::findMistake(id.get<std::string>()) : nullptr;
      found << (mistake ? QString::fromStdString(mistake->title)
                        : QString::fromStdString(id.dump()));
    }
  }
  if (documents.empty()) return "Nothing was sealed in this recording.";
  return found.isEmpty() ? "✓ Nothing was injected." : "▲ Injected: " + found.join("; ");
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
  for (const auto& [id, words] : kMistakes) {
    auto* box = new QCheckBox(words, this);
    box->setProperty("id", id);
    if (const auto* mistake = traces::findMistake(id))
      box->setToolTip(QString::fromStdString(mistake->title));
    boxes_ << box;
    connect(box, &QCheckBox::toggled, this, [this] {
      const auto count = chosen().size();
      count_->setText(count == 0 ? "none injected" : QString("%1 injected").arg(count));
      Q_EMIT changed();
    });
    column->addWidget(box);
  }
  reveal_ = new QPushButton("Reveal", this);
  reveal_->setToolTip("Say what was injected into the recording on show");
  revealed_ = new QLabel(this);
  revealed_->setObjectName("dim");
  revealed_->setWordWrap(true);
  connect(reveal_, &QPushButton::clicked, this, &MistakesBox::reveal);
  column->addWidget(reveal_);
  column->addWidget(revealed_);
  count_->setText("none injected");
  setRecording({});
}

QStringList MistakesBox::chosen() const {
  QStringList ids;
  for (const QCheckBox* box : boxes_)
    if (box->isChecked()) ids << box->property("id").toString();
  return ids;
}

void MistakesBox::setChosen(const QStringList& mistakes) {
  for (QCheckBox* box : boxes_) box->setChecked(mistakes.contains(box->property("id").toString()));
}

void MistakesBox::setRecording(const QString& path) {
  recording_ = path;
  reveal_->setEnabled(!path.isEmpty());
  revealed_->clear();
}

void MistakesBox::reveal() {
  try {
    revealed_->setText(describeSealed(traces::readSealed(recording_.toStdString())));
  } catch (const Error& error) {
    revealed_->setText(QString("▲ ") + error.what());
  }
}

}  // namespace ringscope::viz
