// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/communicator.h"

#include "engine/launch/progress_board.h"
#include "engine/transport/local_backend.h"
#include "traces/core/clock.h"

namespace ringscope::engine {

std::vector<TransferReport> Exchange::wait() {
  const WaitReport waiting(reports_.empty() ? kWaitsForAll : reports_.front().peer);
  for (std::size_t i = 0; i < works_.size(); ++i) {
    works_[i]->wait();
    const auto* local = dynamic_cast<const LocalWork*>(works_[i].get());
    const std::int64_t end = local ? local->parcel().completed_ns : traces::steadyNow();
    // One work may stand for all messages.
    for (std::size_t r = i; r < (works_.size() == 1 ? reports_.size() : i + 1); ++r)
      reports_[r].end_ns = end;
  }
  works_.clear();
  return std::move(reports_);
}

int Exchange::firstSource() const {
  for (const TransferReport& report : reports_)
    if (!report.is_send) return report.peer;
  return -1;
}

Communicator::Communicator(c10::intrusive_ptr<c10d::Backend> backend)
    : backend_(std::move(backend)),
      sent_(static_cast<std::size_t>(backend_->getSize()), 0),
      received_(sent_) {}

std::uint64_t Communicator::flowOf(int from, int to) {
  auto& count = from == rank() ? sent_[static_cast<std::size_t>(to)]
                               : received_[static_cast<std::size_t>(from)];
  return (static_cast<std::uint64_t>(from + 1) << 48) | (static_cast<std::uint64_t>(to + 1) << 32) |
         ++count;
}

Exchange Communicator::exchange(const std::vector<Outgoing>& sends,
                                const std::vector<Incoming>& receives) {
  Exchange exchange;
  // NCCL runs what it is given one after the other, which can deadlock, unless it is given at once.
  const bool grouped = backend_->supportsCoalescing() && !(sends.empty() && receives.empty());
  auto add = [&](c10::intrusive_ptr<c10d::Work> work) {
    if (!grouped) exchange.works_.push_back(std::move(work));
  };
  if (grouped) backend_->startCoalescing();
  auto report = [&](bool is_send, int peer, const at::Tensor& tensor) {
    const std::uint64_t flow = is_send ? flowOf(rank(), peer) : flowOf(peer, rank());
    exchange.reports_.push_back(
        {is_send, peer, static_cast<std::int64_t>(tensor.nbytes()), flow, traces::steadyNow(), 0});
  };
  for (const Incoming& incoming : receives) {
    std::vector<at::Tensor> tensors{incoming.tensor};
    report(false, incoming.from, incoming.tensor);
    add(backend_->recv(tensors, incoming.from, 0));
  }
  for (const Outgoing& outgoing : sends) {
    std::vector<at::Tensor> tensors{outgoing.tensor};
    report(true, outgoing.to, outgoing.tensor);
    add(backend_->send(tensors, outgoing.to, 0));
  }
  if (grouped) exchange.works_.push_back(backend_->endCoalescing());
  return exchange;
}

void Communicator::allReduceSum(at::Tensor& tensor) {
  reduced_bytes_ += static_cast<std::int64_t>(tensor.nbytes());
  const WaitReport waiting(kWaitsForAll);
  // NCCL reduces on the GPU only.
  const bool carried = tensor.is_cpu() && backend_->supportsCoalescing();
  std::vector<at::Tensor> tensors{carried ? tensor.to(at::kCUDA) : tensor};
  backend_->allreduce(tensors, c10d::AllreduceOptions())->wait();
  if (carried) tensor.copy_(tensors.front());
}

void Communicator::barrier() {
  const WaitReport waiting(kWaitsForAll);
  backend_->barrier(c10d::BarrierOptions())->wait();
}

}  // namespace ringscope::engine
