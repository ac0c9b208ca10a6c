// SPDX-License-Identifier: Apache-2.0
#include "traces/analysis/mistakes/catalogue.h"

#include "traces/analysis/mistakes/catalogue/subjects.h"

namespace ringscope::traces {
namespace {

std::vector<Mistake> joinSubjects() {
  std::vector<Mistake> all;
  const auto add = [&all](const char* subject, std::vector<Mistake> mistakes) {
    for (Mistake& mistake : mistakes) {
      mistake.subject = subject;
      all.push_back(std::move(mistake));
    }
  };
  add("Tokens and buffers", tokensAndBuffersMistakes());
  add("Attention", attentionMistakes());
  add("Ring", ringMistakes());
  add("Loss and gradients", lossAndGradientsMistakes());
  return all;
}

}  // namespace

const char* name(CaptureNeeded capture) {
  switch (capture) {
    case CaptureNeeded::kEvents:
      return "none";
    case CaptureNeeded::kStats:
      return "stats";
    case CaptureNeeded::kFull:
      return "full";
  }
  return "";
}

const std::vector<Mistake>& mistakeCatalogue() {
  static const std::vector<Mistake> kCatalogue = joinSubjects();
  return kCatalogue;
}

const Mistake* findMistake(const std::string& id) {
  for (const Mistake& mistake : mistakeCatalogue())
    if (mistake.id == id) return &mistake;
  return nullptr;
}

}  // namespace ringscope::traces
