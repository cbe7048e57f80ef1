// Objects of libfabric, closed on every way out.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <memory>

namespace sonde {

struct CloseFabricObject {
    template <class Object>
    void operator()(Object* object) const noexcept {
        fi_close(&object->fid);
    }
};

template <class Object>
using FabricHandle = std::unique_ptr<Object, CloseFabricObject>;

} // namespace sonde
