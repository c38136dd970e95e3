export type {
  Acted,
  Browser,
  Desk,
  DeskAction,
  DeskOptions,
  DeskPlace,
  Download,
  HostPolicy,
  Look,
  LookOptions,
  Refusal,
  Screenshot,
  ScreenshotOptions,
  Spot,
  StorageState,
  Target,
  UploadedFile
} from './browser.ts'
export { findChromium, type ChromiumOptions } from './chromium/plan-chromium.ts'
export { chromium } from './chromium/chromium.ts'
export { BrowserAgent, type BrowserAgentOptions } from './browser-agent.ts'
export {
  createInProcessStateStore,
  type ActionName,
  type BrowserOptions,
  type KeptStates,
  type See
} from './plan-browser.ts'
export { browserTools } from './browser-tools.ts'
export { createHostPolicy, type AllowedHosts } from './egress/allowed-host.ts'
export { risky } from './guard/risk.ts'
export type { RiskKind } from './guard/risk-kinds.ts'
export type { BrowserSecret } from './guard/secrets.ts'
export * as errors from './errors.ts'
