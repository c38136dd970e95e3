// Services of a desktop browser that no page needs; most of them would connect to their vendor. With `--site-per-process` Chromium
// also starts a spare renderer for each context, which a desk does not use: its first page has a process already.
const OFF = [
  'AutofillServerCommunication',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'SpareRendererForSitePerProcess',
  'Translate'
]

/** Arguments of every Chromium, besides those that guard its egress. */
export const LAUNCH_FLAGS: readonly string[] = [
  '--headless',
  '--no-startup-window',
  '--remote-debugging-pipe',
  // A frame of another site never shares a process with the page, in the headless shell either.
  '--site-per-process',
  `--disable-features=${OFF.join(',')}`,
  '--enable-features=CDPScreenshotNewSurface,SkipListAccountsWithoutGaiaCookies',
  '--disable-background-networking',
  '--disable-breakpad',
  '--disable-client-side-phishing-detection',
  '--disable-component-extensions-with-background-pages',
  '--disable-component-update',
  '--disable-default-apps',
  '--disable-domain-reliability',
  '--disable-extensions',
  '--disable-field-trial-config',
  '--disable-quic',
  '--disable-search-engine-choice-screen',
  '--disable-sync',
  '--dns-prefetch-disable',
  '--metrics-recording-only',
  '--no-default-browser-check',
  '--no-first-run',
  '--no-pings',
  '--no-service-autorun',
  '--password-store=basic',
  '--use-mock-keychain',
  // Containers have little shared memory.
  '--disable-dev-shm-usage',
  // Pages live for seconds: by default V8 spends a tenth of their CPU on optimizing functions that are not called much longer. What is
  // called more often than this is optimized all the same.
  '--js-flags=--invocation-count-for-maglev=3000',
  // Pages in the background work as those in front do.
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
  // Playwright needs page loads that the cache of earlier pages would leave out, and input before the first frame.
  '--allow-pre-commit-input',
  '--disable-back-forward-cache',
  '--disable-hang-monitor',
  '--disable-prompt-on-repost',
  '--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
  '--mute-audio'
]
