import type { DeskOptions } from '../../src/browser.ts'

/** Options of a desk that may connect to everything. */
export function deskOptions(more: Partial<DeskOptions> = {}): DeskOptions {
  return {
    hosts: { allows: () => true, mayBePrivate: () => true },
    signal: new AbortController().signal,
    timeout: { action: 5_000, navigation: 10_000 },
    limits: { bytes: 50_000_000, tabs: 5 },
    ...more
  }
}
