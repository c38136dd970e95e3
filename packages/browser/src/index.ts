export type {
  Acted,
  Browser,
  Desk,
  DeskOptions,
  DeskPlace,
  Download,
  HostPolicy,
  Look,
  LookOptions,
  Refusal,
  Screenshot,
  ScreenshotOptions,
  StorageState,
  Target
} from './browser.ts'
export type { DeskAction, Spot, UploadedFile } from './desk-action.ts'
export { findChromium } from './chromium/find-chromium.ts'
export { chromium } from './chromium/chromium.ts'
export type { ChromiumOptions } from './chromium/chromium-options.ts'
export { BrowserAgent, type BrowserAgentOptions } from './browser-agent.ts'
export type { ActionName, BrowserOptions, KeptStates, See } from './browser-options.ts'
export { browserTools } from './browser-tools.ts'
export { createHostPolicy, type AllowedHosts } from './egress/allowed-host.ts'
export { risky } from './guard/risk.ts'
export type { RiskKind } from './guard/risk-kinds.ts'
export type { BrowserSecret } from './guard/secrets.ts'
export { createInProcessStateStore } from './plan-browser.ts'
export * from './errors.ts'
