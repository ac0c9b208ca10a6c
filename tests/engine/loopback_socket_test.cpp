// SPDX-License-Identifier: Apache-2.0
#include "engine/transport/loopback_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/expect_error.h"

namespace ringscope::engine {
namespace {

TEST(LoopbackSocketTest, ItListensOnLoopbackAndKeepsItsPortUntilItIsClosed) {
  const LoopbackSocket socket = listenOnLoopback();
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ASSERT_EQ(::getsockname(socket.descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(address.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
  EXPECT_EQ(ntohs(address.sin_port), socket.port);
  EXPECT_ERROR(listenOnLoopback(socket.port), ErrorCode::kRunFailed,
               "the ranks cannot meet at port");
  ::close(socket.descriptor);
  const LoopbackSocket again = listenOnLoopback(socket.port);
  EXPECT_EQ(again.port, socket.port);
  ::close(again.descriptor);
}

}  // namespace
}  // namespace ringscope::engine
