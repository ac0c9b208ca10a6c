// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/mistakes_dialog.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "viz/views/doctor/explanation_document.h"

namespace ringscope::viz {
namespace {

constexpr int kListWidth = 330, kPageWidth = 600, kHeight = 600;

}  // namespace

RunConfig runWithMistake(const QString& id) {
  RunConfig config;
  config.mistakes = {id};
  const auto* mistake = traces::findMistake(id.toStdString());
  const auto asked = traces::AskedMistake::parse(id.toStdString());
  for (const traces::Need* need : mistake->needs)
    if (need->meet && !need->is_met(config.spec(), asked)) need->meet(config);
  return config;
}

MistakesDialog::MistakesDialog(bool can_run, const Theme& theme, QWidget* parent)
    : QDialog(parent), can_run_(can_run), theme_(theme) {
  setWindowTitle(tr("Mistakes"));
  setAttribute(Qt::WA_DeleteOnClose);
  auto* columns = new QHBoxLayout(this);
  columns->setContentsMargins(20, 20, 20, 20);
  columns->setSpacing(16);
  list_ = new QListWidget(this);
  list_->setObjectName("evidence");
  list_->setAccessibleName(tr("Mistakes by subject"));
  list_->setFixedWidth(kListWidth);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  columns->addWidget(list_);
  auto* right = new QVBoxLayout;
  right->setSpacing(8);
  page_ = new QTextBrowser(this);
  page_->setAccessibleName(tr("Explanation of the mistake"));
  page_->setOpenExternalLinks(true);
  page_->setMinimumWidth(kPageWidth + 40);
  reason_ = new QLabel(this);
  reason_->setObjectName("dim");
  reason_->setTextFormat(Qt::PlainText);
  reason_->setWordWrap(true);
  run_ = new QPushButton(tr("Run with this mistake"), this);
  run_->setObjectName("primary");
  auto* close = new QPushButton(tr("Close"), this);
  auto* row = new QHBoxLayout;
  row->setSpacing(8);
  row->addWidget(reason_, 1);
  row->addWidget(close);
  row->addWidget(run_);
  right->addWidget(page_, 1);
  right->addLayout(row);
  columns->addLayout(right, 1);
  connect(list_, &QListWidget::currentItemChanged, this, [this](QListWidgetItem* item) {
    if (item) show(item->data(Qt::UserRole).toString());
  });
  connect(list_, &QListWidget::itemActivated, this, &MistakesDialog::run);
  connect(run_, &QPushButton::clicked, this, &MistakesDialog::run);
  connect(close, &QPushButton::clicked, this, &QDialog::close);
  fillList();
  resize(sizeHint().width(), kHeight);
}

void MistakesDialog::fillList() {
  std::string subject;
  for (const auto& mistake : traces::mistakeCatalogue()) {
    if (mistake.subject != subject) {
      subject = mistake.subject;
      auto* heading = new QListWidgetItem(QString::fromStdString(subject).toUpper(), list_);
      heading->setFlags(Qt::NoItemFlags);
    }
    auto* item = new QListWidgetItem(QString::fromStdString(mistake.label), list_);
    item->setData(Qt::UserRole, QString::fromStdString(mistake.id));
    item->setToolTip(QString::fromStdString(mistake.title));
  }
  list_->setCurrentRow(1);  // the first heading is no mistake
}

void MistakesDialog::show(const QString& id) {
  const auto explanation = traces::readExplanation(id.toStdString());
  page_->document()->clear();
  fillExplanation(*page_->document(), explanation, {}, {.width = kPageWidth}, theme_);
  page_->moveCursor(QTextCursor::Start);
  const bool injectable = traces::findMistake(id.toStdString())->injectable;
  const QString reason = !can_run_     ? tr("A run needs the engine. Install ringscope[engine].")
                         : !injectable ? tr("The engine cannot make this mistake. The page says "
                                            "how a recorded job shows it.")
                                       : reasonAgainst(id, runWithMistake(id));
  reason_->setText(reason);
  run_->setEnabled(reason.isEmpty());
}

void MistakesDialog::run() {
  if (!run_->isEnabled()) return;
  Q_EMIT runRequested(runWithMistake(list_->currentItem()->data(Qt::UserRole).toString()));
  close();
}

}  // namespace ringscope::viz
