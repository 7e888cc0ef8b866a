/* ATTN_HD: a function that the host and, under nvcc, the GPU can call. */
#ifndef ATTNBENCH_KERNELS_HOST_DEVICE_H
#define ATTNBENCH_KERNELS_HOST_DEVICE_H

#ifdef __CUDACC__
#define ATTN_HD __host__ __device__
#else
#define ATTN_HD
#endif

#endif
