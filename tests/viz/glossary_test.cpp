// SPDX-License-Identifier: GPL-3.0-or-later
// The glossary of the window, and the words that it explains.
#include "viz/kit/glossary.h"

#include <gtest/gtest.h>

#include <QSet>

#include "viz/views/base/view.h"

namespace ringscope::viz {
namespace {

QString titleAt(const char* words, qsizetype letter) {
  const GlossaryEntry* entry = entryAt(words, letter);
  return entry ? entry->title : "";
}

TEST(GlossaryTest, HasEveryTermOnceAndEachHasAMeaning) {
  QSet<QString> terms;
  for (const GlossaryEntry& entry : glossary()) {
    EXPECT_FALSE(entry.meaning.isEmpty()) << entry.title.toStdString();
    for (const QString& term : entry.terms) {
      EXPECT_FALSE(terms.contains(term)) << term.toStdString();
      terms << term;
    }
  }
  EXPECT_GT(terms.size(), 60);
}

TEST(GlossaryTest, ExplainsTheNameOfEveryView) {
  for (const ViewEntry& view : viewRegistry())
    EXPECT_NE(entryAt(view.title, 0), nullptr) << view.title.toStdString();
}

TEST(GlossaryTest, FindsTheLongestTermThatContainsALetter) {
  EXPECT_EQ(titleAt("rank 2 at ring step 1", 0), "rank");
  EXPECT_EQ(titleAt("rank 2 at ring step 1", 10), "ring step");
  EXPECT_EQ(titleAt("rank 2 at ring step 1", 16), "ring step");
  EXPECT_EQ(titleAt("rank 2 at ring step 1", 5), "");
}

TEST(GlossaryTest, IgnoresCaseAndThePluralAndPartsOfWords) {
  EXPECT_EQ(titleAt("All Ranks", 5), "rank");
  EXPECT_EQ(titleAt("KV BLOCKS", 4), "KV block");
  EXPECT_EQ(titleAt("frankly", 2), "");
  EXPECT_EQ(titleAt("rank_files", 1), "");
  EXPECT_EQ(titleAt("", 0), "");
}

}  // namespace
}  // namespace ringscope::viz
