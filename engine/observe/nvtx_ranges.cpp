// SPDX-License-Identifier: Apache-2.0
#include "engine/observe/nvtx_ranges.h"

#include <nvtx3/nvToolsExtPayload.h>

#include <array>
#include <cstddef>

namespace ringscope::engine {
namespace {

using traces::EventKind;

struct StagePayload {
  std::int32_t rank, layer, direction, ring_step, peer, source_rank;
  std::int64_t bytes;
};

constexpr nvtxPayloadSchemaEntry_t entry(std::uint64_t type, const char* name, std::size_t offset) {
  nvtxPayloadSchemaEntry_t e{};
  e.type = type;
  e.name = name;
  e.offset = offset;
  return e;
}

constexpr std::array kEntries = {
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", offsetof(StagePayload, rank)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "layer", offsetof(StagePayload, layer)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "direction", offsetof(StagePayload, direction)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "ring_step", offsetof(StagePayload, ring_step)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "peer", offsetof(StagePayload, peer)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT32, "source_rank", offsetof(StagePayload, source_rank)),
    entry(NVTX_PAYLOAD_ENTRY_TYPE_INT64, "bytes", offsetof(StagePayload, bytes)),
};

/// The NVTX domain, registered once per process on first use.
struct Domain {
  nvtxDomainHandle_t handle = nvtxDomainCreateA("RingScope");
  std::uint64_t schema = 0;
  std::array<nvtxStringHandle_t, static_cast<std::size_t>(EventKind::kCount)> names{};

  Domain() {
    nvtxPayloadSchemaAttr_t attributes{};
    attributes.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
    attributes.name = "ring_stage";
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = kEntries.data();
    attributes.numEntries = kEntries.size();
    attributes.payloadStaticSize = sizeof(StagePayload);
    schema = nvtxPayloadSchemaRegister(handle, &attributes);
    for (std::size_t kind = 0; kind < names.size(); ++kind)
      names[kind] = nvtxDomainRegisterStringA(handle, traces::name(static_cast<EventKind>(kind)));
  }
};

const Domain& domain() {
  static const Domain kDomain;
  return kDomain;
}

}  // namespace

void nvtxBegin(const traces::Event& event, std::int64_t bytes) {
  const Domain& d = domain();
  StagePayload payload{event.rank.value(),
                       event.place.layer.value(),
                       static_cast<std::int32_t>(event.place.direction),
                       event.place.stage.value(),
                       event.peer.value(),
                       event.source_rank.value(),
                       bytes};
  nvtxPayloadData_t data{};
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = d.names[static_cast<std::size_t>(event.kind)];
  NVTX_PAYLOAD_EVTATTR_SET_DATA(attributes, &data, d.schema, &payload, sizeof payload);
  nvtxDomainRangePushEx(d.handle, &attributes);
}

void nvtxEnd() {
  nvtxDomainRangePop(domain().handle);
}

}  // namespace ringscope::engine
