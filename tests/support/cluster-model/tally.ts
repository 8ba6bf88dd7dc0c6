/** Counts over all runs so far. A property proves nothing if the events never happened. */
export interface ClusterTally {
  accepted: number
  refused: number
  unavailable: number
  /** Validations without their own query: served from the cache or by a pending lookup. */
  hits: number
  /** Validations that began after their token's end was acknowledged. */
  afterAcknowledgement: number
  /** Of these, the ones on an instance that held a lease or had cached the token. */
  afterAcknowledgementWithLease: number
  /** Validations that began a second or more after their token's end. */
  secondLater: number
  acknowledged: number
  /** Acknowledgements that did not have to wait for a lease to expire. */
  acknowledgedEarly: number
  healed: number
}

export function newClusterTally(): ClusterTally {
  return {
    accepted: 0,
    refused: 0,
    unavailable: 0,
    hits: 0,
    afterAcknowledgement: 0,
    afterAcknowledgementWithLease: 0,
    secondLater: 0,
    acknowledged: 0,
    acknowledgedEarly: 0,
    healed: 0,
  }
}
