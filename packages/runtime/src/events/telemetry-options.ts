/** What of a tracer provider is used; every `TracerProvider` of `@opentelemetry/api` fits. */
export interface SpanProvider {
  getTracer(name: string): {
    startSpan(name: string, options?: never, context?: never): { end(endTime?: number): void }
  }
}

/** What of a meter provider is used; every `MeterProvider` of `@opentelemetry/api` fits. */
export interface MetricProvider {
  getMeter(name: string): {
    createHistogram(name: string, options?: never): { record(value: number, attributes?: never): void }
  }
}

/** Where spans and metrics go. */
export interface TelemetryOptions {
  /** Default: the global one of `@opentelemetry/api`. */
  tracerProvider?: SpanProvider
  /** Default: the global one of `@opentelemetry/api`. */
  meterProvider?: MetricProvider
}
