// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/problem_card.h"

#include <QEvent>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QToolButton>
#include <QVBoxLayout>

#include "traces/format/core/utf8.h"

namespace ringscope::viz {
namespace {

/// A path that can be broken into lines after each of its folders.
QString breakable(QString path) {
  return path.replace("/", QString("/") + QChar(0x200b));
}

QString adviceFor(const QFileInfo& file) {
  const QString open = "open another recording (Ctrl+O), or drop a recording on the window.";
  if (!file.exists()) return "Check the name; " + open;
  if (!file.isReadable()) return "Ask its owner for permission to read it; " + open;
  return "Choose a file or folder that RingScope recorded or imports; " + open;
}

}  // namespace

ProblemCard::ProblemCard(QWidget* parent) : QFrame(parent) {
  setObjectName("card");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(24, 20, 24, 20);
  column->setSpacing(10);
  const auto label = [&](const char* name) {
    auto* made = new QLabel(this);
    made->setObjectName(name);
    made->setTextFormat(Qt::PlainText);
    made->setWordWrap(true);
    made->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(made);
    return made;
  };
  what_ = label("title");
  where_ = label("");
  advice_ = label("dim");
  auto* buttons = new QHBoxLayout;
  auto* open = new QToolButton(this);
  open->setText("Open a recording …");
  auto* close = new QToolButton(this);
  close->setText("Close message");
  buttons->addStretch(1);
  for (QToolButton* button : {open, close}) buttons->addWidget(button);
  column->addLayout(buttons);
  connect(open, &QToolButton::clicked, this, &ProblemCard::openRequested);
  connect(close, &QToolButton::clicked, this, &QWidget::hide);
  parent->installEventFilter(this);
  hide();
}

void ProblemCard::show(const QString& path, const QString& reason) {
  const QFileInfo file(path);
  const auto plain = [](const QString& text) {
    return QString::fromStdString(traces::toPlainText(text.toStdString()));
  };
  what_->setText(plain(file.fileName().isEmpty() ? path : file.fileName()) + " cannot be opened");
  QString why = plain(reason);
  // The reason begins with the path as it was given; the whole path says where that is.
  if (why.startsWith(plain(path)))
    why.replace(0, plain(path).size(), plain(file.absoluteFilePath()));
  where_->setText(breakable(why));
  advice_->setText(adviceFor(file));
  setAccessibleName(what_->text());
  setAccessibleDescription(where_->text() + " " + advice_->text());
  raise();
  setVisible(true);
  place();
}

void ProblemCard::place() {
  constexpr int kWidest = 600, kMargin = 24;
  const QSize room = parentWidget()->size();
  const int width = std::min(kWidest, room.width() - 2 * kMargin);
  const int height = std::min(layout()->heightForWidth(width), room.height());
  setGeometry((room.width() - width) / 2, (room.height() - height) / 2, width, height);
}

bool ProblemCard::eventFilter(QObject* watched, QEvent* event) {
  if (watched == parentWidget() && event->type() == QEvent::Resize && isVisible()) place();
  return QFrame::eventFilter(watched, event);
}

}  // namespace ringscope::viz
