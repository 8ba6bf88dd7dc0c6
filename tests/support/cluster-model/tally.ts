/** What happened in all the runs so far: a property that never saw anything happen says nothing. */
export interface ClusterTally {
  accepted: number
  refused: number
  unavailable: number
  /** Validations that asked no store: answered by the cache, or by a look-up that was under way. */
  hits: number
  /** Validations that began after their token's end was acknowledged. */
  afterAcknowledgement: number
  /** Of these the ones that an instance answered which held a lease, or had kept the token. */
  afterAcknowledgementWithLease: number
  /** Validations that began a second or more after their token's end. */
  secondLater: number
  acknowledged: number
  /** Acknowledgements that did not have to wait for a lease to end. */
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
