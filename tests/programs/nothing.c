/* flags: -static -nostdlib
   The smallest program there is, so that only the exec itself costs. */
void _start(void) {
#if defined(__x86_64__)
  __asm__ volatile("mov $60, %eax; xor %edi, %edi; syscall");
#elif defined(__aarch64__)
  __asm__ volatile("mov x8, #93; mov x0, #0; svc #0");
#endif
}
