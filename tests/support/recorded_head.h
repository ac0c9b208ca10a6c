// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace ringscope::test {

/// Returns two ranks with one and two targets over a vocabulary of two. The mean over targets is
/// (log 2 + 2·log 4) / 3: logits are uniform, except on rank 1, where they are log 3 apart.
inline std::string lossesOfTwoRanks(const std::string& more) {
  return "run cp=2\nintent mask=causal loss=mean_over_targets\ngroup cp 0,1\n"
         "tensor logits rank=0 shape=1x2x2 values=0,0,7,7\n"
         "tensor buffer.labels rank=0 shape=1x2 values=1,-100\n"
         "tensor logits rank=1 shape=1x2x2 values=1.0986122886681098,0,1.0986122886681098,0\n"
         "tensor buffer.labels rank=1 shape=1x2 values=1,1\n" +
         more;
}
inline const double kMeanLoss = (std::log(2.0) + 2 * std::log(4.0)) / 3;

inline std::string loggedLoss(const std::string& loss) {
  return "note step.0 {\"loss\": " + loss + "}\n";
}
inline std::string loggedLoss(double loss) {
  return loggedLoss(nlohmann::json(loss).dump());
}

/// An output projection over the tokens of two ranks, and its gradient as a sum in which each
/// rank's part has a factor.
struct Head {
  using Matrix = std::vector<std::vector<double>>;
  static constexpr std::size_t kTokens = 4, kVocabulary = 6, kWidth = 3;

  std::vector<double> factors = {1, 1};
  std::string run = "run cp=2\n";
  int step = 1;                   ///< weights of the step before are recorded
  bool tied = false;              ///< tied to the embedding; the tokens of the input are 4 and 5
  std::size_t targets = kTokens;  ///< targets of rank 1; rank 0 has kTokens
  bool synced = true;             ///< false: each rank keeps its own part
  double lr = 0;                  ///< learning rate by which the first step of AdamW moved the
                                  ///< recorded weights

  std::string text() const {
    std::mt19937 random(3);
    std::normal_distribution<double> normal;
    const auto made = [&](std::size_t rows) {
      Matrix matrix(rows, std::vector<double>(kWidth));
      for (auto& row : matrix)
        for (double& x : row) x = normal(random);
      return matrix;
    };
    Matrix weight = made(kVocabulary);
    std::vector<Matrix> grads(2, Matrix(kVocabulary, std::vector<double>(kWidth, 0)));
    std::string lines = run + "intent loss=mean_over_targets\ngroup cp 0,1\n";
    for (int rank = 0; rank < 2; ++rank)
      lines += part(rank, made(kTokens), weight, grads[synced || rank == 0 ? 0 : 1]);
    Matrix& grad = grads[0];
    if (lr > 0)
      for (std::size_t i = 0; i < kVocabulary; ++i)
        for (std::size_t h = 0; h < kWidth; ++h) weight[i][h] -= lr * (grad[i][h] > 0 ? 1 : -1);
    const std::string name = tied ? "model.embed_tokens.weight" : "lm_head.weight",
                      shape = " shape=6x3 values=";
    if (tied)
      for (const std::size_t row : {4u, 5u}) grad[row] = {7, 7, 7};
    const std::string before = std::to_string(lr > 0 ? step : step - 1);
    for (const std::string rank : {"0", "1"})
      lines += "tensor grad." + name + at() + "rank=" + rank + shape +
               listed(grads[synced || rank == "0" ? 0 : 1]) + "\ntensor weight." + name +
               " direction=backward step=" + before + " rank=" + rank + shape + listed(weight) +
               "\n";
    return lines;
  }

 private:
  std::string at() const { return " step=" + std::to_string(step) + " "; }

  static std::string listed(const Matrix& matrix) {
    std::string list;
    for (const auto& row : matrix)
      for (const double x : row) list += (list.empty() ? "" : ",") + std::to_string(x);
    return list;
  }

  /// Returns the logits, labels and token ids of one rank, and adds its part of the gradient.
  std::string part(int rank, const Matrix& y, const Matrix& weight, Matrix& grad) const {
    Matrix logits;
    std::string labels, ids;
    const auto all = static_cast<double>(kTokens + targets);
    for (std::size_t token = 0; token < kTokens; ++token) {
      const auto label = (token + 2 * static_cast<std::size_t>(rank)) % kVocabulary;
      const bool counts = rank == 0 || token < targets;
      labels += (token ? "," : "") + (counts ? std::to_string(label) : "-100");
      ids += token ? ",5" : "4";
      logits.emplace_back();
      double sum = 0;
      for (const auto& row : weight) {
        double logit = 0;
        for (std::size_t h = 0; h < kWidth; ++h) logit += y[token][h] * row[h];
        logits.back().push_back(logit);
        sum += std::exp(logit);
      }
      for (std::size_t i = 0; counts && i < kVocabulary; ++i)
        for (std::size_t h = 0; h < kWidth; ++h)
          grad[i][h] += factors[static_cast<std::size_t>(rank)] * y[token][h] *
                        (std::exp(logits.back()[i]) / sum - (i == label ? 1 : 0)) / all;
    }
    const std::string of = at() + "rank=" + std::to_string(rank);
    return "tensor logits" + of + " shape=1x4x6 values=" + listed(logits) +
           "\ntensor buffer.labels" + of + " shape=1x4 values=" + labels +
           "\ntensor buffer.input_ids" + of + " shape=1x4 values=" + ids + "\n";
  }
};

}  // namespace ringscope::test
