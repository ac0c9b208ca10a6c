// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "tests/support/places.h"
#include "traces/analysis/verify/recompute/attention.h"
#include "traces/format/safetensors/safetensors.h"
#include "traces/format/trace/trace.h"

namespace ringscope::traces {
namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<TokenIndex> tokens(std::int64_t count) {
  std::vector<TokenIndex> all;
  for (std::int64_t t = 0; t < count; ++t) all.push_back(TokenIndex::of(t));
  return all;
}

/// The results of PyTorch in fp64 from the inputs in the file.
class PyTorchCase {
 public:
  explicit PyTorchCase(const std::string& name)
      : file_(SafeTensorsFile::read(test::inSources("tests/reference/attention/") + name +
                                    ".safetensors")) {
    for (const char* tensor : {"q", "k", "v", "dout"}) inputs_[tensor] = values(tensor);
    const auto& q = file_.at("q").shape;
    in.batch = q[0];
    in.heads = q[1];
    in.kv_heads = file_.at("k").shape[1];
    in.head_dim = q[3];
    in.q_tokens = in.k_tokens = tokens(q[2]);
    in.q = inputs_["q"];
    in.k = inputs_["k"];
    in.v = inputs_["v"];
    in.dout = inputs_["dout"];
    in.scale = std::stod(file_.metadata().at("scale"));
    in.mask = mask();
  }

  std::vector<double> values(const std::string& name) const {
    const SafeTensorView& view = file_.at(name);
    TensorRecord record;
    record.shape = view.shape;
    record.dtype = view.dtype == "F64"    ? DType::kFloat64
                   : view.dtype == "F32"  ? DType::kFloat32
                   : view.dtype == "BF16" ? DType::kBFloat16
                                          : DType::kInt32;
    return decodeValues(record, Bytes(view.data, view.data + view.size_bytes));
  }

  AttentionInputs in;

 private:
  AttentionMask mask() const {
    IntentRecord intent;
    intent.mask = parse<MaskKind>(file_.metadata().at("mask"));
    intent.window = std::stoll(file_.metadata().at("window"));
    if (intent.mask == MaskKind::kDocuments) {
      const auto ends = values("cu_seqlens");
      for (std::size_t d = 1; d < ends.size(); ++d)
        intent.documents.push_back(
            {static_cast<std::int64_t>(ends[d - 1]), static_cast<std::int64_t>(ends[d])});
    }
    return AttentionMask::of(intent);
  }

  SafeTensorsFile file_;
  std::map<std::string, std::vector<double>> inputs_;
};

class PyTorchAttentionTest : public testing::TestWithParam<const char*> {};

TEST_P(PyTorchAttentionTest, IsRecomputedToTheLastDigits) {
  const PyTorchCase reference(GetParam());
  const AttentionValues values = attend(reference.in);
  const std::pair<const char*, const std::vector<double>*> results[] = {{"out", &values.out},
                                                                        {"lse", &values.lse},
                                                                        {"dq", &values.dq},
                                                                        {"dk", &values.dk},
                                                                        {"dv", &values.dv}};
  for (const auto& [name, actual] : results) {
    const auto expected = reference.values(name);
    ASSERT_EQ(actual->size(), expected.size()) << name;
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::abs(expected[i]));
      difference = std::max(difference, std::abs(expected[i] - (*actual)[i]));
    }
    EXPECT_GT(largest, 0) << name;
    EXPECT_LE(difference, 1e-13 * largest) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Reference, PyTorchAttentionTest,
                         testing::Values("full", "causal", "causal_bf16", "causal_gqa",
                                         "causal_wide_scores", "causal_window", "documents",
                                         "documents_even"),
                         [](const auto& test) { return std::string(test.param); });

/// Small inputs with one head of width 2 and one key per token.
struct Small {
  explicit Small(std::int64_t count, AttentionMask mask = {true}) {
    for (std::vector<double>* values : {&q, &k, &v, &dout}) {
      values->resize(static_cast<std::size_t>(2 * count));
      for (double& value : *values) value = std::sin(static_cast<double>(++drawn_));
    }
    in.batch = in.heads = in.kv_heads = 1;
    in.head_dim = 2;
    in.scale = 0.5;
    in.mask = std::move(mask);
    in.q_tokens = in.k_tokens = tokens(count);
    in.q = q;
    in.k = k;
    in.v = v;
    in.dout = dout;
  }
  std::vector<double> q, k, v, dout;
  AttentionInputs in;

 private:
  int drawn_ = 0;
};

TEST(VerifyAttentionTest, OneTokenAttendsItselfAlone) {
  const Small one(1);
  const AttentionValues values = attend(one.in);
  EXPECT_EQ(values.out, one.v);
  EXPECT_EQ(values.dv, one.dout);
  EXPECT_EQ(values.dq, std::vector<double>(2, 0)) << "a single weight is 1 whatever its score";
  EXPECT_EQ(values.dk, std::vector<double>(2, 0));
  EXPECT_DOUBLE_EQ(values.lse[0], 0.5 * (one.q[0] * one.k[0] + one.q[1] * one.k[1]));
}

TEST(VerifyAttentionTest, PaddingBetweenDocumentsAttendsNothingAndIsAttendedByNothing) {
  const Small padded(6, {true, 0, true, {{0, 2}, {4, 6}}});
  const AttentionValues values = attend(padded.in);
  for (const std::size_t token : {2u, 3u}) {
    EXPECT_EQ(values.lse[token], -kInfinity);
    for (const auto* rows : {&values.out, &values.dq, &values.dk, &values.dv}) {
      EXPECT_EQ((*rows)[2 * token], 0);
      EXPECT_EQ((*rows)[2 * token + 1], 0);
    }
  }
  EXPECT_EQ(values.out[2 * 4], padded.v[2 * 4]) << "the first token of the second document";
}

TEST(VerifyAttentionTest, ANaNOfAKeyReachesTheRowsThatAttendItOnly) {
  Small poisoned(40);
  poisoned.v[2 * 20] = kNaN;
  const AttentionValues values = attend(poisoned.in);
  for (std::size_t token = 0; token < 40; ++token)
    EXPECT_EQ(std::isnan(values.out[2 * token]), token >= 20) << token;
  EXPECT_FALSE(std::isnan(values.dq[2 * 19]));
}

TEST(VerifyAttentionTest, SomeQueryRowsAreWhatTheyAreAmongAllOfThem) {
  const Small all(40);
  const AttentionValues whole = attend(all.in);
  AttentionInputs some = all.in;
  some.q_tokens = {TokenIndex::of(7), TokenIndex::of(33)};
  const std::vector<double> q = {all.q[14], all.q[15], all.q[66], all.q[67]};
  const std::vector<double> dout = {all.dout[14], all.dout[15], all.dout[66], all.dout[67]};
  some.q = q;
  some.dout = dout;
  const AttentionValues values = attend(some);
  EXPECT_EQ(values.lse, (std::vector<double>{whole.lse[7], whole.lse[33]}));
  EXPECT_EQ(values.dq,
            (std::vector<double>{whole.dq[14], whole.dq[15], whole.dq[66], whole.dq[67]}));
}

TEST(VerifyAttentionTest, WithoutDoutThereIsNoBackward) {
  Small forward(5);
  forward.in.dout = {};
  const AttentionValues values = attend(forward.in);
  EXPECT_EQ(values.out.size(), 10u);
  EXPECT_TRUE(values.dq.empty() && values.dk.empty() && values.dv.empty());
}

TEST(VerifyAttentionTest, TheVisitorSeesEveryRowWithItsWeights) {
  const Small all(20, {true, 4});
  std::int64_t seen = 0;
  attend(all.in, [&](const AttentionRow& row) {
    EXPECT_EQ(row.row, seen++);
    EXPECT_EQ(row.first_key, std::max<std::int64_t>(0, row.row - 3));
    EXPECT_NEAR(std::accumulate(row.weights.begin(), row.weights.end(), 0.0), 1, 1e-14);
    EXPECT_NEAR(std::accumulate(row.dscores.begin(), row.dscores.end(), 0.0), 0, 1e-14);
  });
  EXPECT_EQ(seen, 20);
}

TEST(VerifyAttentionTest, LongSumsAreOffByFewRoundings) {
  constexpr std::int64_t kTokens = 3000;
  const std::vector<double> zeros(kTokens, 0), tenths(kTokens, 0.1);
  AttentionInputs in;
  in.batch = in.heads = in.kv_heads = in.head_dim = 1;
  in.q_tokens = in.k_tokens = tokens(kTokens);
  in.q = in.k = zeros;
  in.v = in.dout = tenths;
  in.scale = 1;
  in.mask = AttentionMask::of(IntentRecord{.mask = MaskKind::kFull});
  const AttentionValues values = attend(in);
  constexpr double kRoundoff = 0x1p-53;
  for (const auto* means : {&values.out, &values.dv})
    for (const double mean : *means) EXPECT_NEAR(mean, 0.1, 0.1 * 60 * kRoundoff);
}

TEST(VerifyAttentionTest, InputsThatDoNotFitAreRefused) {
  Small wrong(4);
  wrong.in.k_tokens = tokens(3);
  EXPECT_THROW(attend(wrong.in), Error);
  Small unordered(4);
  std::swap(unordered.in.k_tokens[0], unordered.in.k_tokens[3]);
  EXPECT_THROW(attend(unordered.in), Error);
  Small heads(4);
  heads.in.kv_heads = 0;
  EXPECT_THROW(attend(heads.in), Error);
}

TEST(VerifyAttentionTest, WorkCountsThePairsThatAreAttended) {
  EXPECT_EQ(attentionWork(tokens(4), tokens(4), {true}, 3, false), 10 * 3 * 2);
  EXPECT_EQ(attentionWork(tokens(4), tokens(4), {}, 1, true), 16 * 6);
  EXPECT_EQ(attentionWork(tokens(4), tokens(4), {true, 2}, 1, false), 7 * 2);
}

TEST(VerifyMaskTest, PaddingAfterAFullMaskIsAttendedByNobody) {
  IntentRecord intent;
  intent.mask = MaskKind::kFull;
  intent.documents = {{0, 3}};
  const AttentionMask mask = AttentionMask::of(intent);
  EXPECT_EQ(mask.keysFor(TokenIndex::of(1)), (TokenRun{0, 3}));
  EXPECT_EQ(mask.keysFor(TokenIndex::of(3)), (TokenRun{0, 0}));
}

TEST(VerifyMaskTest, TheKeysOfAQueryAreOneRunOfTokens) {
  const auto keys = [](const AttentionMask& mask, std::int64_t token) {
    return mask.keysFor(TokenIndex::of(token));
  };
  EXPECT_EQ(keys({true}, 5), (TokenRun{0, 6}));
  EXPECT_EQ(keys({true, 3}, 5), (TokenRun{3, 6}));
  EXPECT_EQ(keys({true, 3}, 1), (TokenRun{0, 2}));
  EXPECT_EQ(keys({true, 0, true, {{4, 8}}}, 5), (TokenRun{4, 6}));
  EXPECT_EQ(keys({true, 2, true, {{4, 8}}}, 7), (TokenRun{6, 8}));
  EXPECT_EQ(keys({true, 0, true, {{4, 8}}}, 8), (TokenRun{0, 0})) << "padding";
  EXPECT_EQ(keys({}, 5).begin, 0);
  EXPECT_GT(keys({}, 5).end, 1 << 30);
}

}  // namespace
}  // namespace ringscope::traces
