// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/glossary_help.h"

#include <QApplication>
#include <QDialog>
#include <QHelpEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QTextBrowser>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <initializer_list>

#include "viz/kit/glossary.h"
#include "viz/kit/painted_words.h"

namespace ringscope::viz {
namespace {

constexpr int kWidth = 640, kHeight = 520;

const GlossaryEntry* entryUnder(QWidget& widget, const QPoint& at) {
  const auto found = paintedWordsAt(widget, at);
  return found ? entryAt(found->words, found->letter) : nullptr;
}

QString pageWith(const QString& filter) {
  QString page;
  for (const GlossaryEntry& entry : glossary())
    if ((entry.title + " " + entry.meaning).contains(filter, Qt::CaseInsensitive))
      page += "<p>" + richText(entry) + "</p>";
  if (page.isEmpty())
    page = "<p>" + QObject::tr("No entry contains \"%1\".").arg(filter.toHtmlEscaped()) + "</p>";
  return page;
}

}  // namespace

GlossaryHelp::GlossaryHelp(QWidget& window) : QObject(&window), window_(window) {
  qApp->installEventFilter(this);
}

bool GlossaryHelp::showAtMouse() {
  const QPoint mouse = QCursor::pos();
  QWidget* widget = QApplication::widgetAt(mouse);
  if (!widget || widget->window() != &window_) return false;
  const GlossaryEntry* entry = entryUnder(*widget, widget->mapFromGlobal(mouse));
  if (entry) QToolTip::showText(mouse, richText(*entry), widget);
  return entry != nullptr;
}

bool GlossaryHelp::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ToolTip || forwards_ || !watched->isWidgetType()) return false;
  auto& widget = static_cast<QWidget&>(*watched);
  if (widget.window() != &window_) return false;
  forwards_ = true;
  const bool has_own = QCoreApplication::sendEvent(watched, event) && event->isAccepted();
  forwards_ = false;
  if (has_own) return true;
  const auto& help = static_cast<QHelpEvent&>(*event);
  const GlossaryEntry* entry = entryUnder(widget, help.pos());
  event->setAccepted(entry != nullptr);
  if (entry) QToolTip::showText(help.globalPos(), richText(*entry), &widget);
  return true;
}

void showGlossary(QWidget* parent) {
  QDialog dialog(parent);
  dialog.setWindowTitle(QObject::tr("Glossary"));
  auto* column = new QVBoxLayout(&dialog);
  column->setContentsMargins(20, 20, 20, 20);
  column->setSpacing(8);
  auto* field = new QLineEdit(&dialog);
  field->setPlaceholderText(QObject::tr("Words to look for"));
  field->setAccessibleName(QObject::tr("Words to look for in the glossary"));
  auto* page = new QTextBrowser(&dialog);
  page->setAccessibleName(QObject::tr("Entries of the glossary"));
  page->setHtml(pageWith({}));
  auto* close = new QPushButton(QObject::tr("Close"), &dialog);
  QObject::connect(field, &QLineEdit::textChanged, page,
                   [page](const QString& words) { page->setHtml(pageWith(words.trimmed())); });
  QObject::connect(close, &QPushButton::clicked, &dialog, &QDialog::accept);
  for (QWidget* part : std::initializer_list<QWidget*>{field, page}) column->addWidget(part);
  column->addWidget(close, 0, Qt::AlignRight);
  dialog.resize(std::min(kWidth, parent->width()), std::min(kHeight, parent->height()));
  dialog.exec();
}

}  // namespace ringscope::viz
