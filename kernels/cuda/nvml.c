/* Loads NVML and reads power, temperature and throttle reasons. */
#include "kernels/cuda/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The part of NVML's C ABI that is used here. Declared by hand: nvml.h does not come with every CUDA toolkit, and the
 * library itself is only loaded at run time. */
typedef void *nvml_handle;
enum { NVML_OK = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, NVML_TEMPERATURE_GPU = 0 };

struct nvml_device {
  void *library;
  nvml_handle handle;
  int (*shutdown)(void);
  int (*driver_version)(char *, unsigned);
  int (*clock)(nvml_handle, int, unsigned *);
  int (*power_mw)(nvml_handle, unsigned *);
  int (*temperature)(nvml_handle, int, unsigned *);
  int (*reasons)(nvml_handle, unsigned long long *);
  int (*energy_mj)(nvml_handle, unsigned long long *); /* NULL: not in this driver */
};

/* POSIX lets a function's address travel through void *; ISO C does not convert it, so the bytes are stored. */
static bool load(void *library, const char *name, void *function) {
  *(void **)function = dlsym(library, name);
  return *(void **)function != NULL;
}

static bool load_all(struct nvml_device *n, const char *pci_bus_id) {
  int (*init)(void);
  int (*by_pci)(const char *, nvml_handle *);
  return load(n->library, "nvmlInit_v2", &init) && load(n->library, "nvmlDeviceGetHandleByPciBusId_v2", &by_pci) &&
         load(n->library, "nvmlShutdown", &n->shutdown) &&
         load(n->library, "nvmlSystemGetDriverVersion", &n->driver_version) &&
         load(n->library, "nvmlDeviceGetClockInfo", &n->clock) &&
         load(n->library, "nvmlDeviceGetPowerUsage", &n->power_mw) &&
         load(n->library, "nvmlDeviceGetTemperature", &n->temperature) &&
         load(n->library, "nvmlDeviceGetCurrentClocksThrottleReasons", &n->reasons) && init() == NVML_OK &&
         by_pci(pci_bus_id, &n->handle) == NVML_OK;
}

struct nvml_device *nvml_open(const char *pci_bus_id) {
  struct nvml_device *n = calloc(1, sizeof *n);
  if (n == NULL) return NULL;
  n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (n->library != NULL && load_all(n, pci_bus_id)) {
    load(n->library, "nvmlDeviceGetTotalEnergyConsumption", &n->energy_mj);
    return n;
  }
  if (n->library != NULL) dlclose(n->library);
  free(n);
  return NULL;
}

void nvml_close(struct nvml_device *n) {
  if (n == NULL) return;
  n->shutdown();
  dlclose(n->library);
  free(n);
}

void nvml_driver_version(const struct nvml_device *n, char *out, size_t size) {
  if (n != NULL) n->driver_version(out, (unsigned)size);
}

void nvml_read(const struct nvml_device *n, struct device_health *out) {
  *out = (struct device_health){
      .sm_clock_mhz = NAN, .memory_clock_mhz = NAN, .power_w = NAN, .temperature_c = NAN, .known = n != NULL};
  if (n == NULL) return;
  unsigned value;
  unsigned long long reasons;
  if (n->clock(n->handle, NVML_CLOCK_SM, &value) == NVML_OK) out->sm_clock_mhz = value;
  if (n->clock(n->handle, NVML_CLOCK_MEMORY, &value) == NVML_OK) out->memory_clock_mhz = value;
  if (n->power_mw(n->handle, &value) == NVML_OK) out->power_w = value * 1e-3;
  if (n->temperature(n->handle, NVML_TEMPERATURE_GPU, &value) == NVML_OK) out->temperature_c = value;
  if (n->reasons(n->handle, &reasons) == NVML_OK) out->throttle_reasons = reasons;
}

double nvml_energy_j(const struct nvml_device *n) {
  unsigned long long millijoules;
  const bool is_known = n != NULL && n->energy_mj != NULL && n->energy_mj(n->handle, &millijoules) == NVML_OK;
  return is_known ? (double)millijoules * 1e-3 : NAN;
}

/* ---- policy -------------------------------------------------------------------------------------------------- */

typedef int (*nvml_get)(nvml_handle, unsigned *);
typedef int (*nvml_get_of)(nvml_handle, int, unsigned *);
typedef int (*nvml_get_pair)(nvml_handle, unsigned *now, unsigned *after_reset);

static const char *const off_or_on[] = {"off", "on", NULL};

/* Index into NULL-ended names; "other" past them. */
static void write_name(const char *const *names, unsigned value, char *out, size_t size) {
  unsigned i = 0;
  while (i < value && names[i] != NULL) ++i;
  snprintf(out, size, "%s", names[i] != NULL ? names[i] : "other");
}

/* Every entry is looked up by itself: old drivers lack some, and new ones drop some. */
static void read_mode(const struct nvml_device *n, const char *symbol, const char *const *names, char *out,
                      size_t size) {
  nvml_get get;
  unsigned value;
  if (load(n->library, symbol, &get) && get(n->handle, &value) == NVML_OK) write_name(names, value, out, size);
}

static void read_switch(const struct nvml_device *n, const char *symbol, char *out, size_t size) {
  nvml_get_pair get;
  unsigned now, after_reset;
  if (!load(n->library, symbol, &get) || get(n->handle, &now, &after_reset) != NVML_OK) return;
  write_name(off_or_on, now, out, size);
}

static void read_clock(const struct nvml_device *n, const char *symbol, int clock, double *mhz) {
  nvml_get_of get;
  unsigned value;
  if (load(n->library, symbol, &get) && get(n->handle, clock, &value) == NVML_OK) *mhz = value;
}

static void read_power(const struct nvml_device *n, const char *symbol, double *watts) {
  nvml_get get;
  unsigned milliwatts;
  if (load(n->library, symbol, &get) && get(n->handle, &milliwatts) == NVML_OK) *watts = milliwatts * 1e-3;
}

void nvml_policy(const struct nvml_device *n, struct device_policy *out) {
  static const char *const compute_modes[] = {"default", "exclusive_thread", "prohibited", "exclusive_process", NULL};
  static const char *const virtualization[] = {"none", "passthrough", "vgpu", "host_vgpu", "host_vsga", NULL};
  if (n == NULL) return;
  out->known = true;
  read_switch(n, "nvmlDeviceGetMigMode", out->mig, sizeof out->mig);
  read_switch(n, "nvmlDeviceGetEccMode", out->ecc, sizeof out->ecc);
  read_power(n, "nvmlDeviceGetEnforcedPowerLimit", &out->power_limit_w);
  read_power(n, "nvmlDeviceGetPowerUsage", &out->idle_power_w);
  read_clock(n, "nvmlDeviceGetApplicationsClock", NVML_CLOCK_SM, &out->application_sm_clock_mhz);
  read_clock(n, "nvmlDeviceGetApplicationsClock", NVML_CLOCK_MEMORY, &out->application_memory_clock_mhz);
  read_clock(n, "nvmlDeviceGetMaxClockInfo", NVML_CLOCK_SM, &out->max_sm_clock_mhz);
  read_clock(n, "nvmlDeviceGetMaxClockInfo", NVML_CLOCK_MEMORY, &out->max_memory_clock_mhz);
  read_mode(n, "nvmlDeviceGetComputeMode", compute_modes, out->compute_mode, sizeof out->compute_mode);
  read_mode(n, "nvmlDeviceGetPersistenceMode", off_or_on, out->persistence, sizeof out->persistence);
  read_mode(n, "nvmlDeviceGetVirtualizationMode", virtualization, out->virtualization, sizeof out->virtualization);
}
