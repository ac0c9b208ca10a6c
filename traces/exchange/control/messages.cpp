// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/control/messages.h"

#include "traces/format/core/error.h"

namespace ringscope::traces::control {

using nlohmann::json;

namespace {

json idJson(const std::optional<std::int64_t>& id) {
  return id ? json(*id) : json();
}

std::optional<std::int64_t> idFrom(const Fields& fields) {
  if (!fields.has("id")) return std::nullopt;
  return fields.integer<std::int64_t>("id");
}

json jsonOf(const Reply& reply) {
  json object = {{"reply", reply.cmd}, {"id", idJson(reply.id)}, {"ok", !reply.refused()}};
  if (const Refused* refused = reply.refused()) object["error"] = refused->error;
  std::visit(
      [&](const auto& answer) {
        if constexpr (requires { answer.put(object); }) answer.put(object);
      },
      reply.answer);
  return object;
}

json jsonOf(const EngineHello& hello) {
  return {{"hello",
           {{"control", hello.control},
            {"format", hello.format},
            {"run_id", hello.run_id},
            {"capabilities", hello.capabilities}}}};
}

json jsonOf(const Waiting& waiting) {
  json late = json::array();
  for (const auto& [rank, place] : waiting.late)
    late.push_back({{"rank", rank.value()}, {"place", toJson(std::optional(place))}});
  return {{"waiting", waiting.cmd}, {"id", idJson(waiting.id)}, {"for", late}};
}

json jsonOf(const StoppedByBreak& stopped) {
  json object = {{"stopped", "break"}};
  stopped.report.put(object);
  return object;
}

json jsonOf(const End& end) {
  return {{"end",
           {{"run_id", end.run_id},
            {"ok", end.reason.empty()},
            {"stopped", end.stopped},
            {"reason", end.reason}}}};
}

json jsonOf(const Failure& failure) {
  return {{"error", failure.error}};
}

template <typename... Types>
Answer answerTo(const std::string& cmd, const Fields& fields,
                const std::variant<Types...>* /*of these*/) {
  std::optional<Answer> found;
  const auto take = [&]<typename Type>() {
    if (cmd == Type::kName) found = Type::Answer::from(fields);
    return found.has_value();
  };
  if (!(take.template operator()<Types>() || ...))
    throw inputError("an answer to '" + cmd + "', which is not a request of version " +
                     std::to_string(kControlVersion));
  return *found;
}

Reply replyFrom(const Fields& fields) {
  Reply reply{fields.text("reply"), idFrom(fields), {}};
  if (fields.flag("ok"))
    reply.answer = answerTo(reply.cmd, fields, static_cast<const Request*>(nullptr));
  else
    reply.answer = Refused{fields.text("error")};
  return reply;
}

EngineHello helloFrom(const Fields& fields) {
  const Fields hello = fields.object("hello");
  return {hello.integer<int>("control"), hello.integer<int>("format"), hello.text("run_id"),
          hello.texts("capabilities")};
}

Waiting waitingFrom(const Fields& fields) {
  Waiting waiting{fields.text("waiting"), idFrom(fields), {}};
  for (const Fields& entry : fields.objects("for")) {
    const auto place = entry.place("place");
    if (!place) entry.refuse("place", "a place");
    waiting.late.push_back({WorldRank::of(entry.integer<std::int32_t>("rank")), *place});
  }
  return waiting;
}

End endFrom(const Fields& fields) {
  const Fields end = fields.object("end");
  return {end.text("run_id"), end.flag("stopped"), end.text("reason")};
}

}  // namespace

Bytes encodeMessage(const Message& message) {
  // A message may contain the name of a file, which need not be valid UTF-8.
  return std::visit(
      [](const auto& said) {
        return encodeJsonFrame(jsonOf(said).dump(-1, ' ', false, json::error_handler_t::replace));
      },
      message);
}

Message decodeMessage(const json& message) {
  const Fields fields(message, "a message of the run");
  if (fields.has("reply")) return replyFrom(fields);
  if (fields.has("hello")) return helloFrom(fields);
  if (fields.has("waiting")) return waitingFrom(fields);
  if (fields.has("stopped")) return StoppedByBreak{StopReport::from(fields)};
  if (fields.has("end")) return endFrom(fields);
  if (fields.has("error")) return Failure{fields.text("error")};
  throw inputError("the run says what version " + std::to_string(kControlVersion) +
                   " of the control connection does not have");
}

}  // namespace ringscope::traces::control
