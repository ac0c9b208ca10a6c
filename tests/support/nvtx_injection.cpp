// SPDX-License-Identifier: Apache-2.0
// An NVTX injection library, like that of a profiler. It writes every range of RingScope's domain,
// with its payload, into the file that RINGSCOPE_NVTX_LOG names.
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

namespace {

/// The payload as nvtx_ranges.cpp declares it; the schema's offsets are checked against it.
struct StagePayload {
  std::int32_t rank, layer, direction, ring_step, peer, source_rank;
  std::int64_t bytes;
};

std::mutex mutex;
std::FILE* logFile() {
  static std::FILE* file = [] {
    const char* path = std::getenv("RINGSCOPE_NVTX_LOG");
    return path ? std::fopen(path, "w") : nullptr;
  }();
  return file;
}

char our_domain;
thread_local int depth = 0;

nvtxDomainHandle_t domainCreate(const char* name) {
  static char other;
  char* handle = std::strcmp(name, "RingScope") == 0 ? &our_domain : &other;
  return reinterpret_cast<nvtxDomainHandle_t>(handle);
}

nvtxStringHandle_t registerString(nvtxDomainHandle_t, const char* text) {
  // kept for the life of the process
  return reinterpret_cast<nvtxStringHandle_t>(new std::string(text));
}

int rangePush(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (reinterpret_cast<char*>(domain) != &our_domain) return depth++;
  const bool registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  const auto* name = reinterpret_cast<const std::string*>(event->message.registered);
  const auto* data = reinterpret_cast<const nvtxPayloadData_t*>(event->payload.ullValue);
  const std::lock_guard lock(mutex);
  if (logFile() && registered && data && data->size == sizeof(StagePayload)) {
    StagePayload p;
    std::memcpy(&p, data->payload, sizeof p);
    std::fprintf(logFile(), "%s %llu %d %d %d %d %d %d %lld\n", name->c_str(),
                 static_cast<unsigned long long>(data->schemaId), p.rank, p.layer, p.direction,
                 p.ring_step, p.peer, p.source_rank, static_cast<long long>(p.bytes));
  }
  return depth++;
}

int rangePop(nvtxDomainHandle_t) {
  const std::lock_guard lock(mutex);
  --depth;
  if (logFile()) std::fprintf(logFile(), "pop %d\n", depth);
  if (logFile() && depth == 0) std::fflush(logFile());
  return depth;
}

std::uint64_t registerSchema(nvtxDomainHandle_t, const nvtxPayloadSchemaAttr_t* schema) {
  const std::lock_guard lock(mutex);
  for (std::size_t i = 0; logFile() && i < schema->numEntries; ++i)
    std::fprintf(logFile(), "field %s %llu\n", schema->entries[i].name,
                 static_cast<unsigned long long>(schema->entries[i].offset));
  return 4711;
}

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-identifier-naming): the name that NVTX requires
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  auto set = [&](int id, auto function) {
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  };
  set(NVTX_CBID_CORE2_DomainCreateA, domainCreate);
  set(NVTX_CBID_CORE2_DomainRegisterStringA, registerString);
  set(NVTX_CBID_CORE2_DomainRangePushEx, rangePush);
  set(NVTX_CBID_CORE2_DomainRangePop, rangePop);
  return 1;
}

/// Initialises the extension for typed payloads.
// NOLINTNEXTLINE(readability-identifier-naming): the name that NVTX requires
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount < 1) return 0;
  module->segments[0].functionSlots[NVTX3EXT_CBID_nvtxPayloadSchemaRegister] =
      reinterpret_cast<std::intptr_t>(registerSchema);
  return 1;
}
}
