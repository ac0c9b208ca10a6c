// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/ringscope-gui/explain.h"

#include <QFileInfo>
#include <algorithm>
#include <iostream>

#include "traces/analysis/doctor/diagnosis.h"
#include "traces/exchange/import/open_trace.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/trace.h"
#include "viz/views/doctor/explanation_page.h"
#include "viz/views/doctor/finding_card_scene.h"
#include "viz/views/doctor/view_picture.h"

namespace ringscope::app {
namespace {

viz::ExplanationPicture pictureFrom(const QString& path, const std::string& id) {
  constexpr double kDense = 3;
  viz::Session session;
  session.open(traces::openTrace(path.toStdString()), QFileInfo(path).fileName(), false);
  const auto cards = viz::findingCards(traces::diagnose(session.trace()));
  const auto card = std::ranges::find_if(cards, [&](const viz::FindingCard& each) {
    return each.explanation && each.explanation->id == id;
  });
  if (card == cards.end()) {
    std::cerr << "ringscope-gui: the doctor does not find " << id << " in " << path.toStdString()
              << ", so the page has no picture\n";
    return {};
  }
  return viz::drawPicture(session, *card, {}, viz::Theme::named("light"), kDense);
}

}  // namespace

int explain(const QString& id, const QString& trace, const QString& output) {
  if (id.isEmpty()) throw usageError("-o is for --explain ID");
  if (output.isEmpty()) throw usageError("--explain needs -o OUT.pdf");
  const auto explanation = traces::readExplanation(id.toStdString());
  viz::ExplanationPicture picture;
  if (!trace.isEmpty()) picture = pictureFrom(trace, explanation.id);
  viz::writeExplanationPage(output, explanation, picture);
  return 0;
}

}  // namespace ringscope::app
