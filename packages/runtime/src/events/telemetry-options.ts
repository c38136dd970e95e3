/** The used part of a tracer provider; any `TracerProvider` of `@opentelemetry/api` fits. */
export interface SpanProvider {
  getTracer(name: string): {
    startSpan(name: string, options?: never, context?: never): { end(endTime?: number): void }
  }
}

/** The used part of a meter provider; any `MeterProvider` of `@opentelemetry/api` fits. */
export interface MetricProvider {
  getMeter(name: string): {
    createHistogram(name: string, options?: never): { record(value: number, attributes?: never): void }
    createCounter(name: string, options?: never): { add(value: number, attributes?: never): void }
  }
}

/** Destinations of spans and metrics. */
export interface TelemetryOptions {
  /** Default: the global one of `@opentelemetry/api`. */
  tracerProvider?: SpanProvider
  /** Default: the global one of `@opentelemetry/api`. */
  meterProvider?: MetricProvider
}
