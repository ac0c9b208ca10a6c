// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/share_dialog.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <algorithm>

#include "viz/kit/tick_box.h"
#include "viz/share/view_frames.h"

namespace ringscope::viz {
namespace {

QLineEdit* makePosition(const QString& name, const QString& what, QWidget* parent) {
  auto* line = new QLineEdit(parent);
  line->setObjectName(name);
  line->setAccessibleName(what);
  line->setPlaceholderText("STEP,LAYER,forward,RINGSTEP");
  return line;
}

}  // namespace

ShareDialog::ShareDialog(QWidget* parent) : QDialog(parent) {
  setWindowTitle("Share as a web page");
  auto* rows = new QFormLayout(this);
  auto* label = new QLabel("The page holds the findings, the summary and these views:", this);
  rows->addRow(label);
  const QStringList chosen = defaultSharedViews();
  for (const ViewEntry& entry : viewRegistry()) {
    if (!canBeShared(entry.name)) continue;
    auto* box = new TickBox(entry.title, this);
    box->setObjectName(entry.name);
    box->setChecked(chosen.contains(entry.name));
    connect(box, &QCheckBox::toggled, this, &ShareDialog::showState);
    views_.append(box);
    rows->addRow(box);
  }
  from_ = makePosition("from", "First ring step", this);
  until_ = makePosition("until", "Last ring step", this);
  rows->addRow("First ring step", from_);
  rows->addRow("Last ring step", until_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel, this);
  save_ = buttons->addButton("Save …", QDialogButtonBox::AcceptRole);
  save_->setDefault(true);
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
  rows->addRow(buttons);
}

QStringList ShareDialog::arguments() const {
  QStringList names, all;
  for (const QCheckBox* box : views_)
    if (box->isChecked()) names.append(box->objectName());
  all.append("--view=" + names.join(','));
  if (!from_->text().isEmpty()) all.append("--from=" + from_->text());
  if (!until_->text().isEmpty()) all.append("--until=" + until_->text());
  return all;
}

void ShareDialog::showState() {
  save_->setEnabled(std::any_of(views_.begin(), views_.end(),
                                [](const QCheckBox* box) { return box->isChecked(); }));
}

}  // namespace ringscope::viz
