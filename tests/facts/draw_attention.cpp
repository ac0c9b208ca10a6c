// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>

#include <sstream>
#include <utility>

#include "engine/mistakes/registry.h"
#include "tests/facts/drawing.h"
#include "traces/format/core/error.h"
#include "traces/format/trace/ending.h"

namespace ringscope::facts {

using engine::AttendConfig;
using engine::AttendInput;
using traces::Balance;
using traces::Strategy;

namespace {

int roundedUp(int length, int unit) {
  return (length + unit - 1) / unit * unit;
}

bool coversAll(const std::vector<Span>& documents, int length) {
  int next = 0;
  for (const Span& document : documents) next = document.begin == next ? document.end : -1;
  return next == length;
}

/// Lengths that can be dealt are multiples of it.
int unitOf(const Plan& plan) {
  const bool halves = plan.dealing == Dealing::kHeadTail || plan.dealing == Dealing::kPerDocument;
  return halves ? 2 * plan.cp : plan.cp;
}

/// The sequence as it is dealt: as long as the dealing needs.
void pad(Plan& plan, int length) {
  const int unit = unitOf(plan);
  plan.length = roundedUp(length, unit);
  if (plan.dealing == Dealing::kPerDocument) {
    plan.length = 0;
    for (Span& document : plan.documents) {
      const int size = document.end - document.begin, begin = plan.length;
      document = {begin, begin + size};
      plan.length += roundedUp(size, unit);
      plan.slots.push_back({begin, plan.length});
    }
  } else if (plan.length != length && plan.documents.empty()) {
    plan.documents = {{0, length}};
  }
}

void drawMask(std::mt19937& random, Plan& plan, int length) {
  const int kind = drawn(random, 0, 5);
  plan.causal = kind > 0;
  if (kind == 2 || (kind > 3 && random() % 2)) plan.window = drawn(random, 1, length + 2);
  if (kind > 2) plan.documents = drawnDocuments(random, length, kind == 3);
}

engine::Mask maskFor(const Plan& plan) {
  engine::Mask mask{plan.causal, plan.window, {}};
  for (const Span& d : plan.documents) mask.documents.push_back({d.begin, d.end});
  return mask;
}

/// Draws the plan and writes it into the configuration.
Plan drawPlan(std::mt19937& random, AttendConfig& config, int length) {
  Plan plan;
  plan.cp = config.cp = pickOne<int>(random, {1, 2, 2, 3, 4, 4, 4, 5, 6, 8, 8, 12, 16});
  config.strategy =
      pickOne<Strategy>(random, {Strategy::kRing, Strategy::kRing, Strategy::kAllGather,
                                 Strategy::kUlysses, Strategy::kHybrid});
  config.rotate = static_cast<traces::Rotate>(random() % 3);
  config.order = static_cast<traces::Order>(random() % 2);
  std::vector<int> splits;
  for (int u = 1; u <= plan.cp; ++u)
    if (plan.cp % u == 0) splits.push_back(u);
  if (config.strategy == Strategy::kUlysses) plan.ulysses = plan.cp;
  if (config.strategy == Strategy::kHybrid) plan.ulysses = config.ulysses = pickOne(random, splits);
  plan.gathers = config.strategy == Strategy::kAllGather;
  plan.gathers_once = config.rotate == traces::Rotate::kAllGather;
  plan.own_last = config.order == traces::Order::kDiagonalLast;
  plan.heads = plan.ulysses * drawn(random, 1, plan.ulysses > 4 ? 1 : 3);
  std::vector<int> kv;
  for (int heads = 1; heads <= plan.heads; ++heads)
    if (plan.heads % heads == 0) kv.push_back(heads);
  plan.kv_heads = pickOne(random, kv);
  plan.batch = drawn(random, 1, 2);
  drawMask(random, plan, length);
  std::vector<Balance> balances = {Balance::kNone};
  if (plan.causal) balances.insert(balances.end(), {Balance::kHeadTail, Balance::kStriped});
  if (!plan.documents.empty() && coversAll(plan.documents, length))
    balances.push_back(Balance::kPerDocument);
  config.balance = pickOne(random, balances);
  plan.dealing = static_cast<Dealing>(*config.balance);
  return plan;
}

std::vector<double> doubles(const at::Tensor& t) {
  const at::Tensor d = t.to(at::kDouble).contiguous();
  return {d.const_data_ptr<double>(), d.const_data_ptr<double>() + d.numel()};
}

/// Returns the inputs of an attention, with each token at its position in the padded sequence.
Numbers numbersFrom(const AttendInput& in, const Plan& plan, const std::vector<Span>& unpadded) {
  std::vector<std::int64_t> places;
  if (plan.dealing == Dealing::kPerDocument)
    for (std::size_t d = 0; d < unpadded.size(); ++d)
      for (int t = 0; t < unpadded[d].end - unpadded[d].begin; ++t)
        places.push_back(plan.documents[d].begin + t);
  else
    for (std::int64_t t = 0; t < in.q.size(2); ++t) places.push_back(t);
  auto padded = [&](const at::Tensor& t) {
    auto shape = t.sizes().vec();
    shape[2] = plan.length;
    return doubles(at::zeros(shape, t.options()).index_copy_(2, at::tensor(places, at::kLong), t));
  };
  Numbers n{plan.batch, plan.heads, plan.kv_heads, plan.width, plan.length, in.scale, {}, {},
            {},         {}};
  n.q = padded(in.q);
  n.k = padded(in.k);
  n.v = padded(in.v);
  if (in.sinks.defined()) n.sinks = doubles(in.sinks);
  return n;
}

AttendInput drawInput(std::mt19937& random, Case& c, AttentionDraw& draw) {
  Plan& plan = draw.plan;
  const auto type = pickOne<at::ScalarType>(
      random, {at::kFloat, at::kFloat, at::kDouble, at::kBFloat16, at::kHalf});
  plan.width = pickOne<int>(random, {4, 8});
  plan.element_bytes = static_cast<int>(c10::elementSize(type));
  plan.sum_bytes = type == at::kDouble ? 8 : 4;
  if (type == at::kBFloat16 || type == at::kHalf) c.tolerance = 2e-2;
  at::manual_seed(random());
  auto tensor = [&](int heads) {
    return at::randn({plan.batch, heads, draw.length, plan.width}, at::kFloat).to(type);
  };
  AttendInput in{tensor(plan.heads),
                 tensor(plan.kv_heads),
                 tensor(plan.kv_heads),
                 tensor(plan.heads),
                 maskFor(plan),
                 draw.scale,
                 {}};
  if (random() % 4 == 0 && draw.may_have_sinks) in.sinks = at::randn({plan.heads}) * 2;
  return in;
}

std::string describe(const AttendConfig& config, const Plan& plan, int length) {
  std::ostringstream text;
  text << "attend " << traces::name(config.strategy) << " cp " << plan.cp << " ulysses "
       << plan.ulysses << " " << traces::name(config.rotate) << " " << traces::name(config.order)
       << " " << traces::name(*config.balance) << " length " << length
       << (plan.causal ? " causal" : " full") << " window " << plan.window << " documents";
  for (const Span& d : plan.documents) text << " " << d.begin << "-" << d.end;
  text << " heads " << plan.heads << "/" << plan.kv_heads << " batch " << plan.batch << " capture "
       << config.capture << (config.fp8 ? " fp8" : "") << (config.dropout > 0 ? " dropout" : "");
  return text.str();
}

/// Runs it and keeps what was recorded.
void record(Case& c, const AttendInput& in, const AttendConfig& config) {
  c.trace = std::make_shared<traces::Trace>();
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  sinks.push_back(std::make_unique<KeepingSink>(c));
  traces::Recorder recorder(c.cp, std::move(sinks));
  engine::Gate gate(c.cp);
  try {
    const auto outcome = engine::attend(in, config, gate, &recorder);
    if (c.verify) recorder.diffs(engine::verifyAttend(in, outcome, config.fp8));
    c.peak_bytes = outcome.peak_bytes;
  } catch (const Error& error) {
    if (c.mistake != "dropped_hop") throw;  // which hangs
    recorder.note(traces::kEndedNote, traces::endedNote({traces::HowEnded::kFailed, error.what()}));
  }
  recorder.close();
}

}  // namespace

Plan AttentionDraw::dealt() const {
  Plan whole = plan;
  if (config.pad)
    pad(whole, length);
  else
    whole.length = length / unitOf(whole) * unitOf(whole);
  return whole;
}

AttentionDraw drawAttention(std::mt19937& random) {
  AttentionDraw draw;
  draw.length = drawn(random, 1, 96);
  draw.plan = drawPlan(random, draw.config, draw.length);
  draw.config.pad = true;
  draw.config.capture = pickOne<std::string>(random, {"none", "stats", "full", "full"});
  draw.config.fp8 = draw.plan.fp8 = random() % 8 == 0;
  draw.config.dropout = random() % 8 == 0 ? 0.2 : 0;
  draw.config.verify = draw.config.dropout == 0 && random() % 3 == 0;
  return draw;
}

Case recordedAttention(std::mt19937& random, AttentionDraw draw, const std::string& mistake) {
  Case c;
  AttendConfig& config = draw.config;
  const AttendInput in = drawInput(random, c, draw);
  const Plan plan = draw.dealt();
  c.mistake = mistake;
  c.capture = config.capture;
  c.verify = std::exchange(config.verify, false);  // asked of the outcome here
  c.numbers_are_exact = !config.fp8;
  c.out_is_plain = config.dropout == 0;
  c.cp = plan.cp;
  c.strategy = traces::name(config.strategy);
  c.mask = traces::name(in.mask.kind());
  c.stats = c.capture != "none";
  c.values = c.capture == "full";
  c.text = describe(config, draw.plan, draw.length) + " " + c10::toString(in.q.scalar_type());
  if (in.sinks.defined()) c.text += " sinks";
  if (!mistake.empty()) {
    c.text += " mistake " + mistake;
    traces::RunSpec run = config;
    run.command = traces::Command::kAttend;
    const std::string made = engine::placed(mistake, run);
    c.made = traces::AskedMistake::parse(made);
    engine::inject(made, config.seams);
  }
  c.unpadded = draw.length;
  if (config.pad) c.given = numbersFrom(in, plan, draw.plan.documents);
  c.oracles.emplace_back(plan);
  record(c, in, config);
  return c;
}

Case drawnAttention(std::mt19937& random) {
  return recordedAttention(random, drawAttention(random), "");
}

}  // namespace ringscope::facts
