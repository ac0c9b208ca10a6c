// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <vector>

namespace ringscope::viz {

/// A row of docs/reference/glossary.md.
struct GlossaryEntry {
  QString title;               ///< the terms as the page lists them: "finding, clear"
  std::vector<QString> terms;  ///< each of them
  QString meaning;
};

/// Returns the entries of the glossary, in the order of the page.
const std::vector<GlossaryEntry>& glossary();

/// Returns the entry of the longest term of the glossary that contains this letter of a text, or
/// null. Upper and lower case are equal, and a term may end in the s of a plural.
const GlossaryEntry* entryAt(const QString& words, qsizetype letter);

/// Returns an entry as rich text: its terms in bold, and its meaning.
QString richText(const GlossaryEntry& entry);

}  // namespace ringscope::viz
