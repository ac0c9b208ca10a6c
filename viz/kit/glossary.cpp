// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/kit/glossary.h"

#include <QFile>

/// The macro is not allowed in a namespace.
static void initHelp() {
  Q_INIT_RESOURCE(help);
}

namespace ringscope::viz {
namespace {

std::vector<GlossaryEntry> readGlossary() {
  initHelp();
  QFile file(":/help/glossary.md");
  if (!file.open(QFile::ReadOnly)) return {};
  std::vector<GlossaryEntry> entries;
  for (const QString& line : QString::fromUtf8(file.readAll()).split('\n')) {
    const QStringList cells = line.split('|');
    // A row has an empty cell on both sides. The first two rows are the head of the table.
    if (cells.size() != 4 || cells[1].trimmed() == "word" || cells[1].startsWith("---")) continue;
    GlossaryEntry entry{cells[1].trimmed(), {}, cells[2].trimmed().remove('`')};
    for (const QString& term : entry.title.split(", ")) entry.terms.push_back(term);
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool isOfWord(QChar letter) {
  return letter.isLetterOrNumber() || letter == '_';
}

/// Reports whether a term stands at a place of a text as words of their own.
bool standsAlone(const QString& words, qsizetype begin, qsizetype size) {
  qsizetype end = begin + size;
  if (end < words.size() && words[end].toLower() == 's') ++end;
  return (begin == 0 || !isOfWord(words[begin - 1])) &&
         (end == words.size() || !isOfWord(words[end]));
}

bool containsLetter(const QString& words, const QString& term, qsizetype letter) {
  for (qsizetype begin = words.indexOf(term, 0, Qt::CaseInsensitive); begin >= 0;
       begin = words.indexOf(term, begin + 1, Qt::CaseInsensitive))
    if (begin <= letter && letter <= begin + term.size() && standsAlone(words, begin, term.size()))
      return true;
  return false;
}

}  // namespace

const std::vector<GlossaryEntry>& glossary() {
  static const std::vector<GlossaryEntry> kEntries = readGlossary();
  return kEntries;
}

const GlossaryEntry* entryAt(const QString& words, qsizetype letter) {
  const GlossaryEntry* longest = nullptr;
  qsizetype size = 0;
  for (const GlossaryEntry& entry : glossary())
    for (const QString& term : entry.terms)
      if (term.size() > size && containsLetter(words, term, letter)) {
        longest = &entry;
        size = term.size();
      }
  return longest;
}

QString richText(const GlossaryEntry& entry) {
  return "<b>" + entry.title.toHtmlEscaped() + "</b>: " + entry.meaning.toHtmlEscaped();
}

}  // namespace ringscope::viz
