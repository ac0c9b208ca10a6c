// SPDX-License-Identifier: Apache-2.0
// Mistakes of how heads, documents and buffers are dealt: what each changes, where it is refused,
// and that the doctor names it first and alone.
#include "tests/engine/injected_harness.h"

namespace ringscope::engine {
namespace {

// -------- balance_cuts_documents

TrainConfig documents(int cp) {
  TrainConfig config = training(cp);
  config.seq_len = 512;
  config.mask = traces::MaskKind::kDocuments;
  config.separator = "\n\n";
  config.balance = Balance::kPerDocument;
  return config;
}

TEST(BalanceCutsDocumentsTest, TheNumbersAreRightAndTheWorkIsUneven) {
  const TrainConfig config = documents(4);
  EXPECT_NEAR(train(config, "balance_cuts_documents").steps.front().loss,
              train(config, "").steps.front().loss, 1e-5);
  Attention a = attention(2);
  a.in.mask = Mask::packed({0, 8, 72}, 72);
  a.config.balance = Balance::kPerDocument;
  const auto right = attendWith(a, ""), wrong = attendWith(a, "balance_cuts_documents");
  EXPECT_TRUE(sameTensors(right, wrong));
  EXPECT_EQ(right.work[0], right.work[1]);
  EXPECT_NE(wrong.work[0], wrong.work[1]);
  expectNamed("balance_cuts_documents", config);
  expectNamed("balance_cuts_documents", a);
}

TEST(BalanceCutsDocumentsTest, IsRefusedWhereNoDocumentsAreDealt) {
  TrainConfig config = documents(4);
  config.balance = Balance::kHeadTail;
  expectRefused(config, "balance_cuts_documents", "changes nothing where no documents are dealt");
}

}  // namespace
}  // namespace ringscope::engine
