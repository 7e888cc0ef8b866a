/* NVML through dlopen: clocks, power, temperature, the reasons why clocks are held back, and the device's policy. A
 * machine without the library loses these columns and nothing else. */
#ifndef ATTNBENCH_KERNELS_CUDA_NVML_H
#define ATTNBENCH_KERNELS_CUDA_NVML_H

#include "kernels/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct nvml_device;

/* NULL when the library, one of its entries or the GPU is not there. pci_bus_id: "0000:3b:00.0". Caller closes. */
struct nvml_device *nvml_open(const char *pci_bus_id);
void nvml_close(struct nvml_device *);

/* The driver's version as text; leaves out alone when unknown. */
void nvml_driver_version(const struct nvml_device *, char *out, size_t size);

/* n may be NULL: then nothing is known. */
void nvml_read(const struct nvml_device *, struct device_health *out);

/* As device_energy_j. n may be NULL. */
double nvml_energy_j(const struct nvml_device *);

/* Fills what NVML tells of MIG, ECC, power limit, clocks and modes, and leaves the rest alone. n may be NULL. */
void nvml_policy(const struct nvml_device *, struct device_policy *out);

#ifdef __cplusplus
}
#endif
#endif
